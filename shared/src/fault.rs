//! What a person did wrong, or what stands in their way: one sentence with a code, a place and what to do.

use std::fmt;

use serde::Serialize;

macro_rules! codes {
    ($($name:ident = $code:literal, $title:literal;)*) => {
        /// The stable codes of faults. Each has a page under `ops/docs/errors/`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $title] $name,)*
        }

        impl Code {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The code as shown: `LW0101`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// What it is about, in a few words.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }
        }
    };
}

codes! {
    Unreadable = "LW0101", "A file cannot be read";
    NotUtf8 = "LW0102", "A file is not UTF-8 text";
    Syntax = "LW0103", "A file is not valid YAML or JSON";
    UnknownField = "LW0104", "A field is not known";
    WrongValue = "LW0105", "A value is missing or of the wrong kind";
    EmptyPrompt = "LW0106", "A prompt is empty";
    LongPrompt = "LW0107", "A prompt is too long";
    Sources = "LW0108", "A source folder is missing or empty";
    DuplicateId = "LW0201", "Two jobs have one id";
    UnknownDependency = "LW0202", "A job depends on one that does not exist";
    SelfEdge = "LW0203", "A job depends on itself";
    Cycle = "LW0204", "Jobs wait for each other in a ring";
    Contradiction = "LW0205", "A job needs two outcomes of one parent";
    EmptyId = "LW0206", "A job has an empty id";
    UnknownAgent = "LW0301", "An agent is not known";
    UnknownTool = "LW0302", "A tool is not known";
    AgentFile = "LW0303", "An agent file is not valid";
    ContextSchema = "LW0304", "The context does not fit the agent's input schema";
    StoreBusy = "LW0401", "The store is locked or not available";
    StoreCorrupt = "LW0402", "The store is damaged";
    StoreReadOnly = "LW0403", "The store cannot be written";
    StoreNewer = "LW0404", "The store was written by a newer version";
    StoreFull = "LW0405", "There is no room left";
    StoreUnfit = "LW0406", "The store is not fit for use";
    NoModel = "LW0501", "No model is configured";
    NoKey = "LW0502", "The provider's key is missing or refused";
    UnknownId = "LW0601", "Nothing has that id";
    AmbiguousId = "LW0602", "More than one thing has that id";
    WrongState = "LW0603", "The state does not allow it";
    KeyConflict = "LW0604", "An idempotency key was used with another payload";
    OverBudget = "LW0605", "The run's budget does not allow it";
    Internal = "LW0901", "Something unexpected happened";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One clear sentence about what is wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{code}: {}{message}; {help}", place.as_ref().map(|p| format!("{p}: ")).unwrap_or_default())]
pub struct Fault {
    /// Its code.
    pub code: Code,
    /// Where: file, line, column, field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// What is wrong: lower case, no full stop.
    pub message: String,
    /// What to do: an imperative, lower case, no full stop.
    pub help: String,
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Fault {
    /// A fault without a place.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            code,
            place: None,
            message: message.into(),
            help: help.into(),
        }
    }

    /// The same fault at `place`.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }
}

impl From<crate::dag::GraphError> for Fault {
    fn from(error: crate::dag::GraphError) -> Self {
        use crate::dag::GraphError;
        let code = match &error {
            GraphError::EmptyName { .. } => Code::EmptyId,
            GraphError::Duplicate { .. } => Code::DuplicateId,
            GraphError::SelfEdge { .. } => Code::SelfEdge,
            GraphError::Unknown { .. } => Code::UnknownDependency,
            GraphError::Contradiction { .. } => Code::Contradiction,
            GraphError::Cycle { .. } => Code::Cycle,
        };
        let text = error.to_string();
        let (message, help) = text.rsplit_once("; ").unwrap_or((&text, "correct the plan"));
        Self::new(code, message, help)
    }
}

#[cfg(feature = "store")]
impl From<crate::store::StoreError> for Fault {
    fn from(error: crate::store::StoreError) -> Self {
        use crate::store::StoreError;
        let (code, help) = match &error {
            StoreError::Conflict { .. } => (Code::StoreBusy, "try again"),
            StoreError::Exhausted { .. } => (Code::OverBudget, "raise the run's limit or ask for less"),
            StoreError::KeyConflict { .. } => (Code::KeyConflict, "send the first payload again or use a new key"),
            StoreError::Unavailable { .. } => (Code::StoreBusy, "try again in a moment"),
            StoreError::Full { .. } => (
                Code::StoreFull,
                "free some space and try again; nothing accepted is lost",
            ),
            StoreError::ReadOnly { .. } => (
                Code::StoreReadOnly,
                "give the user write access or choose another --store",
            ),
            StoreError::Newer { .. } => (Code::StoreNewer, "install the newest legwork"),
            StoreError::Unfit { .. } => (Code::StoreUnfit, "set it up as described or choose another --store"),
            StoreError::Corrupt { .. } => (
                Code::StoreCorrupt,
                "restore the file from a backup or choose another --store",
            ),
        };
        Self::new(code, error.to_string(), help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_sorted() {
        assert!(Code::ALL.is_sorted_by(|a, b| a.as_str() < b.as_str()));
    }

    #[test]
    fn a_fault_reads_as_one_sentence() {
        let fault = Fault::new(Code::Cycle, "the jobs wait for each other", "remove an edge").at("plan.yaml:3:5");
        assert_eq!(
            fault.to_string(),
            "LW0204: plan.yaml:3:5: the jobs wait for each other; remove an edge"
        );
    }
}
