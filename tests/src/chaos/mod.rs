//! Real processes under real faults: workers are killed and paused, the server crashes, the network and the disk fail, and
//! at the end the checker reads what is left.

mod crew;
mod disk;
mod errand;
mod fault;
mod host;
mod marker;
mod story;

pub use crew::{Place, Station};
pub use errand::{Errand, MARKER, Shape, Workload, submission};
pub use fault::Fault;
pub use marker::{Marker, work};
pub use story::{Outcome, Story, worker_program};
