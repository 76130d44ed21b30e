//! Worker of Legwork: runs jobs as isolated subagents.

pub mod agents;
pub mod attempt;
pub mod docs;
pub mod extract;
pub mod model;
pub mod runner;
pub mod tool;
pub mod workspace;
