//! What agent files of other programs say, in our words.

/// Fields of other programs that resemble ours by chance.
pub(super) const FIELDS: [&str; 4] = ["mode", "hooks", "skills", "memory"];

/// Names of models that mean something in one program only; here the run's model is used instead.
pub(super) const MODEL_ALIASES: [&str; 4] = ["sonnet", "opus", "haiku", "default"];

/// What becomes of a tool's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolName<'a> {
    /// It is one of ours, or one that we cannot judge.
    Ours(&'a str),
    /// It is another program's, and ours has another name.
    Translated(&'static str),
    /// It belongs to the agent loop itself: nothing to list.
    OfTheLoop,
    /// It is another program's, and there is none like it here.
    Missing,
}

/// Our name of a tool.
pub(super) fn tool(name: &str) -> ToolName<'_> {
    // `Bash(git:*)` limits the shell there; the agent's sandbox does that here.
    let bare = name.split_once('(').map_or(name, |(bare, _)| bare);
    match bare {
        "Read" => ToolName::Translated("read_file"),
        "Write" => ToolName::Translated("write_file"),
        "Edit" | "MultiEdit" => ToolName::Translated("edit_file"),
        "Glob" => ToolName::Translated("glob"),
        "Grep" => ToolName::Translated("grep"),
        "LS" => ToolName::Translated("ls"),
        "Bash" => ToolName::Translated("shell"),
        "WebFetch" => ToolName::Translated("fetch_url"),
        "TodoWrite" | "TodoRead" | "Task" | "Agent" => ToolName::OfTheLoop,
        "WebSearch" | "NotebookEdit" | "NotebookRead" | "BashOutput" | "KillShell" | "KillBash" | "ExitPlanMode"
        | "AskUserQuestion" | "Skill" | "SlashCommand" => ToolName::Missing,
        _ => ToolName::Ours(name),
    }
}
