//! A run as plain lines on stderr: what a log file or a pipe can hold.

use chrono::Local;
use legwork_shared::job::EventKind;
use legwork_shared::wire::EventView;

use super::{Mirror, Viewer};
use crate::cli::base::{Stop, say};
use crate::output::event_line;

/// Says a line where a job begins, ends, or meets trouble; steps and waits would only be noise.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lines;

impl Viewer for Lines {
    fn show(&mut self, mirror: &Mirror, events: &[EventView]) -> Result<(), Stop> {
        for event in events.iter().filter(|event| is_news(&event.kind)) {
            say(&event_line(event, &Local, &|job| mirror.name_of(job)));
        }
        Ok(())
    }
}

fn is_news(kind: &EventKind) -> bool {
    match kind {
        EventKind::Started { .. }
        | EventKind::Paused { .. }
        | EventKind::Resumed { .. }
        | EventKind::AttemptFailed { .. }
        | EventKind::AttemptLost { .. }
        | EventKind::Succeeded
        | EventKind::Failed { .. }
        | EventKind::CancelRequested { .. }
        | EventKind::Cancelled { .. }
        | EventKind::Skipped { .. }
        | EventKind::Held { .. }
        | EventKind::Retried { .. }
        | EventKind::UpdateApplied { .. }
        | EventKind::UpdatesUnread { .. } => true,
        EventKind::Submitted
        | EventKind::Blocked { .. }
        | EventKind::Scheduled { .. }
        | EventKind::Queued
        | EventKind::UpdateSent { .. }
        | EventKind::Stepped { .. }
        | EventKind::TodosChanged { .. } => false,
    }
}

/// Says nothing: for programs that read the result.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Viewer for Quiet {
    fn show(&mut self, _mirror: &Mirror, _events: &[EventView]) -> Result<(), Stop> {
        Ok(())
    }
}
