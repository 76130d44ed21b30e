//! Keeps what a person types from moving the live tree.

use std::io::{Stdin, stdin};
use std::os::fd::AsFd;

use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// While it lives, the terminal does not show `^C` when that is pressed; elsewhere it does nothing.
///
/// The two characters would take the cursor to another line, and the tree would be drawn a line too low.
#[derive(Debug)]
pub struct HiddenControls(Option<Termios>);

impl HiddenControls {
    /// Hides them if stdin is a terminal and we are in its foreground.
    #[must_use]
    pub fn new() -> Self {
        let stdin = stdin();
        let Ok(before) = tcgetattr(&stdin) else {
            return Self(None);
        };
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHOCTL);
        Self(set(&stdin, &hidden).then_some(before))
    }
}

impl Drop for HiddenControls {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // Where it cannot be set back the terminal is gone, or its shell has set it as it likes.
            set(&stdin(), before);
        }
    }
}

/// Whether `terminal` is one that a person looks at while we run, and not the prompt of a shell that started us aside.
#[must_use]
pub fn in_foreground(terminal: impl AsFd) -> bool {
    tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp())
}

/// Sets the modes of our terminal; the system would stop a process that tries so from the background.
fn set(stdin: &Stdin, modes: &Termios) -> bool {
    in_foreground(stdin) && tcsetattr(stdin, OptionalActions::Now, modes).is_ok()
}
