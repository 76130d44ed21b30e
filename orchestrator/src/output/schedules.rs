//! Schedules as a table.

use legwork_shared::time::Timestamp;
use legwork_shared::wire::{ScheduleList, ScheduleView};

use super::{Table, human, without_controls};

/// The longest title in a list, in characters.
const TITLE_CHARS_MAX: usize = 60;

/// Schedules as a table, as of `now`.
#[must_use]
pub fn schedule_list(list: &ScheduleList, now: Timestamp) -> Table {
    let mut table = Table::new(&["schedule", "cron", "zone", "next", "last", "run", "title"]);
    for schedule in &list.schedules {
        table.row([
            without_controls(&schedule.name).into_owned(),
            without_controls(&schedule.cron).into_owned(),
            without_controls(&schedule.zone).into_owned(),
            schedule
                .next_at_ms
                .map_or_else(|| "never".to_owned(), |at| ahead(at, now)),
            schedule.last_at_ms.map_or_else(String::new, |at| human::ago(at, now)),
            outcome(schedule),
            human::cut(
                &without_controls(schedule.title.as_deref().unwrap_or_default()),
                TITLE_CHARS_MAX,
            ),
        ]);
    }
    table
}

fn ahead(at: Timestamp, now: Timestamp) -> String {
    if at <= now {
        return "now".to_owned();
    }
    format!("in {}", human::duration(at.since_ms(now)))
}

fn outcome(schedule: &ScheduleView) -> String {
    match (&schedule.last_run, &schedule.last_error) {
        (Some(run), _) => run.to_string(),
        (None, Some(error)) => human::first_line(&without_controls(error), TITLE_CHARS_MAX),
        (None, None) => String::new(),
    }
}
