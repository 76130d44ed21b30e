//! Worker of Legwork: runs jobs as isolated subagents.

pub mod model;
pub mod tool;
pub mod workspace;
