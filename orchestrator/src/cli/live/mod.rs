//! Follows a run: what has changed, and how it is shown while it goes on.

mod controls;
mod follow;
mod lines;
mod mirror;
mod screen;

pub use controls::{HiddenControls, in_foreground};
pub use follow::{Followed, Viewer, follow};
pub use lines::{Lines, Quiet};
pub use mirror::Mirror;
pub use screen::Screen;
