//! What programs read of runs and jobs: the JSON of `--json`. Field names and units here do not change.
//!
//! Records of the store may change their form with a version of the store; these views are made from them and stay.
//! Moments are milliseconds since the Unix epoch, spans are milliseconds, prices are millionths of a US dollar.

mod answer;
mod event;
mod figures;
mod job;
mod run;
mod schedule;
mod worker;

pub use answer::{
    Cancelled, CancelledJob, Failure, Paused, Pruned, PrunedRun, ResultView, Retried, RunResult, Submitted,
    SubmittedJob, Updated,
};
pub use event::EventView;
pub use figures::{AgentFigures, Totals, Troubles};
pub use job::{DependsOn, JobView};
pub use run::{JobList, PauseView, RunList, RunStatus, RunSummary};
pub use schedule::{Moment, ScheduleList, ScheduleView, Upcoming};
pub use worker::{WorkerHealth, WorkerList, WorkerView};
