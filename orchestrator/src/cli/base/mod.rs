//! What the commands share: settings and store, input, output, and how a command ends.

mod answer;
mod context;
mod exit;
mod flags;
mod input;
mod print;
mod talk;
mod views;
mod workers;

pub use answer::{job_result, run_result};
pub use context::{Context, Format, Missing};
pub use exit::{EXIT_CODES, Exit, Stop};
pub use flags::{AgentsFlag, Flags, ModelFlag, SlotsFlag, WorkerFlags};
pub use input::{STDIN, absolute_sources, check_writable, read_text, write_whole};
pub use print::{Out, columns, print, print_bytes};
pub use talk::{LOG_VARIABLE, Under, say, start_log, under};
pub use views::{count_troubles, find_run_view, job_views, load_jobs, load_status, summary};
pub use workers::{health, load_workers};

/// Who asks, on the record of cancels and retries.
pub const BY: &str = "command line";
