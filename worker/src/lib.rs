//! Worker of Legwork: runs jobs as isolated subagents.
