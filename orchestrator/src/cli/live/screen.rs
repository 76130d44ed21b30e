//! A run as a tree that stays in its place on the terminal.

use console::{Term, truncate_str};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use legwork_shared::wire::EventView;

use super::{Mirror, Viewer};
use crate::cli::base::{Stop, Under, under};
use crate::output::{Size, dim, human, paint_run_state, strong, summary_line, tree};

/// Lines that stay free: the head, the summary, and one for the prompt that comes after.
const LINES_AROUND: usize = 4;
/// A tree of more lines than this is not read, however tall the terminal is.
const LINES_MAX: usize = 60;

/// The live tree on stderr.
#[derive(Debug)]
pub struct Screen {
    bar: ProgressBar,
    _under: Under,
}

impl Screen {
    /// A display that is drawn with the first change.
    #[must_use]
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        let under = under(&bar);
        Self { bar, _under: under }
    }
}

impl Viewer for Screen {
    fn show(&mut self, mirror: &Mirror, _events: &[EventView]) -> Result<(), Stop> {
        let now = mirror.store().now();
        let status = mirror.status(now);
        let size = size();
        let title = human::cut(
            &human::first_line(&status.run.title, usize::MAX),
            size.columns.saturating_sub(2),
        );
        let mut lines = vec![format!("{} {}", paint_run_state(status.run.state, "▸"), strong(&title))];
        lines.extend(tree(&status, now, size));
        lines.push(dim(&summary_line(&status)));
        // A line that is wider than the terminal would push the others down. Wide characters count as two columns.
        let fitting: Vec<_> = lines.iter().map(|line| truncate_str(line, size.columns, "…")).collect();
        self.bar.set_message(fitting.join("\n"));
        self.bar.tick();
        Ok(())
    }
}

impl Drop for Screen {
    /// Leaves the last picture on the screen, above whatever follows.
    fn drop(&mut self) {
        self.bar.abandon();
    }
}

fn size() -> Size {
    let (lines, columns) = Term::stderr().size();
    Size {
        columns: usize::from(columns),
        lines: usize::from(lines).saturating_sub(LINES_AROUND).clamp(1, LINES_MAX),
    }
}
