//! What a person sees: pure functions from views to text.
//!
//! Colours are always part of the text as ANSI sequences; the streams at the edge take them out where nobody wants them.

mod ending;
mod event;
mod fault;
pub mod graph;
pub mod human;
mod journal;
mod schedules;
mod status;
mod style;
mod table;
mod tree;
mod workers;

pub use ending::{ending, results_text, run_ending};
pub use event::event_line;
pub use fault::fault_text;
pub use journal::{Detail, body, is_opening, journal_entry, opening};
pub use schedules::schedule_list;
pub use status::{job_list, run_list, status_text, summary_line};
pub use style::{dim, paint_job_state, paint_run_state, strong, symbol, without_controls};
pub use table::Table;
pub use tree::{Size, tree};
pub use workers::worker_list;

#[cfg(test)]
mod samples;
