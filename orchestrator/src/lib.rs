//! What coordinates the work: accepting, steering and looking after runs. The command line is in the binary.

pub mod change;
pub mod coordinator;
pub mod maintenance;
pub mod timetable;

#[cfg(test)]
mod testing;
