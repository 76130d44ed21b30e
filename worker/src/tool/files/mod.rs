//! The file tools: the workspace and the sources as one tree, read and changed as coding agents do.

mod edit_file;
mod glob;
mod grep;
mod ls;
mod pattern;
mod read_file;
#[cfg(test)]
pub(in crate::tool) mod testing;
mod text;
mod tree;
mod write_file;

pub use edit_file::EditFile;
pub use glob::Glob;
pub use grep::Grep;
pub use ls::Ls;
pub use read_file::ReadFile;
pub use write_file::WriteFile;
