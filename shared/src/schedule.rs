//! A plan that is submitted again and again.

use serde::{Deserialize, Serialize};

use crate::id::RunId;
use crate::plan::Plan;
use crate::time::Timestamp;

/// What became of the last occurrence of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occurrence {
    /// When it was due.
    pub at: Timestamp,
    /// The run that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Why none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A plan with the times at which it is submitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Its name, unique with its tenant.
    pub name: String,
    /// Whose it is.
    pub tenant: String,
    /// Grows by one with each change.
    pub version: u64,
    /// When, as a cron expression of five fields.
    pub cron: String,
    /// The time zone in which that is read, by its IANA name.
    pub zone: String,
    /// What is submitted, with all agents that it needs.
    pub plan: Plan,
    /// When it is due next; never again if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
    /// The last occurrence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Occurrence>,
    /// Who made it.
    pub by: String,
    /// When it was made.
    pub created_at: Timestamp,
}
