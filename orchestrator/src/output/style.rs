//! Symbols and colours of states, and text that cannot take over a terminal.

use std::borrow::Cow;

use clap::builder::styling::{AnsiColor, Style};
use legwork_shared::job::JobState;
use legwork_shared::run::RunState;

/// The symbol of a state, one column wide.
#[must_use]
pub fn symbol(state: JobState) -> &'static str {
    match state {
        JobState::Blocked => "·",
        JobState::Scheduled => "◷",
        JobState::Queued => "○",
        JobState::Running => "●",
        JobState::Succeeded => "✓",
        JobState::Failed => "✗",
        JobState::Cancelled => "⊘",
        JobState::Skipped => "↷",
    }
}

fn job_colour(state: JobState) -> Style {
    match state {
        JobState::Blocked | JobState::Skipped => Style::new().dimmed(),
        JobState::Scheduled | JobState::Cancelled => AnsiColor::Yellow.on_default(),
        JobState::Queued => AnsiColor::Cyan.on_default(),
        JobState::Running => AnsiColor::Blue.on_default().bold(),
        JobState::Succeeded => AnsiColor::Green.on_default(),
        JobState::Failed => AnsiColor::Red.on_default().bold(),
    }
}

fn run_colour(state: RunState) -> Style {
    match state {
        RunState::Active => job_colour(JobState::Running),
        RunState::Succeeded => job_colour(JobState::Succeeded),
        RunState::Failed => job_colour(JobState::Failed),
        RunState::Cancelled => job_colour(JobState::Cancelled),
    }
}

/// `text` in the colour of a job's state.
#[must_use]
pub fn paint_job_state(state: JobState, text: &str) -> String {
    painted(job_colour(state), text)
}

/// `text` in the colour of a run's state.
#[must_use]
pub fn paint_run_state(state: RunState, text: &str) -> String {
    painted(run_colour(state), text)
}

/// `text` that may be overlooked.
#[must_use]
pub fn dim(text: &str) -> String {
    painted(Style::new().dimmed(), text)
}

/// `text` that should be seen first.
#[must_use]
pub fn strong(text: &str) -> String {
    painted(Style::new().bold(), text)
}

fn painted(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Text from outside without what a terminal would obey: control characters become visible.
///
/// Line ends and tabs stay. A model's reply or a file name could otherwise move the cursor, set the title or clear the
/// screen.
#[must_use]
pub fn without_controls(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| match c {
        c if !obeyed(c) => c,
        // The control pictures of Unicode stand in the order of the control characters.
        c if (c as u32) < 0x20 => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        _ => '\u{fffd}',
    };
    Cow::Owned(text.replace("\r\n", "\n").chars().map(shown).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_cannot_command_the_terminal() {
        assert_eq!(
            without_controls("a\x1b[2Jb\x07\u{9b}\x7f\tc\r\nd"),
            "a␛[2Jb␇\u{fffd}␡\tc\nd"
        );
        assert!(matches!(without_controls("häuser\n"), Cow::Borrowed(_)));
    }
}
