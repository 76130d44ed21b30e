//! The agents there are: those inside the program, and those of a user's folders, the nearest first.

mod library;

pub use library::{AgentLibrary, Origin, usual_folders};

/// The agents inside the program, by file name.
const SHIPPED: [(&str, &str); 6] = [
    ("analyst.md", include_str!("shipped/analyst.md")),
    ("coordinator.md", include_str!("shipped/coordinator.md")),
    ("general-purpose.md", include_str!("shipped/general-purpose.md")),
    ("researcher.md", include_str!("shipped/researcher.md")),
    ("reviewer.md", include_str!("shipped/reviewer.md")),
    ("writer.md", include_str!("shipped/writer.md")),
];

/// The agents that can also work without a language model, each in the role of its name.
const EXTRACTIVE: [&str; 4] = ["researcher", "reviewer", "analyst", "writer"];
