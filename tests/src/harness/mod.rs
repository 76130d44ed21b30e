//! The real program in a folder of its own: nothing of the machine reaches it, and nothing of it outlives the test.
//!
//! A test starts [`Legwork::new`], runs commands to their end ([`Legwork::run`]) or beside itself
//! ([`Legwork::spawn`]), and waits for what it is waiting for ([`wait_until`], [`Running::wait_for_line`]) with
//! deadlines that are only reached when something is broken.

mod folder;
mod output;
mod program;
mod running;
mod wait;

pub use folder::{Legwork, STORE_VARIABLE};
pub use output::Output;
pub use program::{program, repository};
pub use running::Running;
pub use wait::{DEADLINE, wait_until};
