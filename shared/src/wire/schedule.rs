//! Schedules, for programs.

use serde::{Deserialize, Serialize};

use crate::id::RunId;
use crate::schedule::Schedule;
use crate::time::Timestamp;

/// A schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleView {
    /// Its name.
    pub name: String,
    /// When, as a cron expression.
    pub cron: String,
    /// The time zone in which that is read.
    pub zone: String,
    /// What its plan is about, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When it is due next; never again if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at_ms: Option<Timestamp>,
    /// When it was due last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_at_ms: Option<Timestamp>,
    /// The run that was made then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<RunId>,
    /// Why none was made then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Who made the schedule.
    pub by: String,
    /// When it was made.
    pub created_at_ms: Timestamp,
}

impl From<&Schedule> for ScheduleView {
    fn from(schedule: &Schedule) -> Self {
        let last = schedule.last.as_ref();
        Self {
            name: schedule.name.clone(),
            cron: schedule.cron.clone(),
            zone: schedule.zone.clone(),
            title: schedule.plan.title.clone(),
            next_at_ms: schedule.next_at,
            last_at_ms: last.map(|last| last.at),
            last_run: last.and_then(|last| last.run),
            last_error: last.and_then(|last| last.error.clone()),
            by: schedule.by.clone(),
            created_at_ms: schedule.created_at,
        }
    }
}

/// All schedules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleList {
    /// The schedules, by name.
    pub schedules: Vec<ScheduleView>,
}

/// A moment, for programs and for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The moment.
    pub at_ms: Timestamp,
    /// The same as people of the schedule's time zone write it.
    pub local: String,
}

/// When a schedule is due next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upcoming {
    /// The moments, the next one first.
    pub next: Vec<Moment>,
}
