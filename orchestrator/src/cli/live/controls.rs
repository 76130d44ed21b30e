//! Keeps what a person types from moving the live tree.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// While it lives, the terminal does not show `^C` when that is pressed; elsewhere it does nothing.
///
/// The two characters would take the cursor to another line, and the tree would be drawn a line too low.
#[derive(Debug)]
pub struct HiddenControls(Option<Termios>);

impl HiddenControls {
    /// Hides them if stdin is a terminal.
    #[must_use]
    pub fn new() -> Self {
        let stdin = std::io::stdin();
        let Ok(before) = tcgetattr(&stdin) else {
            return Self(None);
        };
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHOCTL);
        let done = tcsetattr(&stdin, OptionalActions::Now, &hidden);
        Self(done.is_ok().then_some(before))
    }
}

impl Drop for HiddenControls {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // A terminal that is gone has nothing to restore.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}
