//! Where a plan comes from, so that what is wrong with it can be found there.

use legwork_shared::fault::{Code, Fault};
use legwork_shared::plan::locate;

/// Where a plan comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It was made from the arguments of the call.
    CommandLine,
    /// It was read from a file, or from stdin.
    File {
        /// The file, as it was named.
        name: String,
        /// What is in it.
        text: String,
    },
}

impl Origin {
    /// A fault that the plan met on its way into the store, with its place for a person: file, line, column and field, or
    /// the argument. A fault about something else stays as it is.
    #[must_use]
    pub fn place(&self, fault: Fault) -> Fault {
        if !is_of_plan(fault.code) {
            return fault;
        }
        let field = fault.place.clone();
        match (self, field) {
            (Self::CommandLine, None) => fault.at("command line"),
            (Self::CommandLine, Some(field)) => fault.at(argument(&field)),
            (Self::File { name, .. }, None) => fault.at(name.as_str()),
            (Self::File { name, text }, Some(field)) => match locate(text, &field) {
                Some(at) => fault.at(format!("{name}:{}:{}: {field}", at.line, at.column)),
                None => fault.at(format!("{name}: {field}")),
            },
        }
    }
}

/// What a field of a plan of one job is on the command line.
fn argument(field: &str) -> String {
    match field.rsplit_once('.') {
        Some((_, "agent")) => "--agent".to_owned(),
        Some((_, "description")) => "the question".to_owned(),
        None if field == "idempotency_key" => "--key".to_owned(),
        None if field == "sources" => "--sources".to_owned(),
        Some(_) | None => field.to_owned(),
    }
}

/// Whether a fault is about what a plan says, not about where it goes.
fn is_of_plan(code: Code) -> bool {
    match code {
        Code::WrongValue
        | Code::EmptyPrompt
        | Code::LongPrompt
        | Code::DuplicateId
        | Code::UnknownDependency
        | Code::SelfEdge
        | Code::Cycle
        | Code::Contradiction
        | Code::EmptyId
        | Code::UnknownAgent
        | Code::UnknownTool
        | Code::ContextSchema
        | Code::KeyConflict => true,
        Code::Unreadable
        | Code::NotUtf8
        | Code::Syntax
        | Code::UnknownField
        | Code::Sources
        | Code::AgentFile
        | Code::StoreBusy
        | Code::StoreCorrupt
        | Code::StoreReadOnly
        | Code::StoreNewer
        | Code::StoreFull
        | Code::StoreUnfit
        | Code::NoModel
        | Code::NoKey
        | Code::UnknownId
        | Code::AmbiguousId
        | Code::WrongState
        | Code::OverBudget
        | Code::Internal => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_a_plan_name_file_line_column_and_field_and_others_stay_as_they_are() {
        let fault = |code| Fault::new(code, "m", "h");
        let origin = Origin::File {
            name: "stdin".to_owned(),
            text: "jobs:\n  - {id: a, agent: b}\n".to_owned(),
        };
        let place = |fault| origin.place(fault).place;
        assert_eq!(place(fault(Code::Cycle)).as_deref(), Some("stdin"));
        let field = |field: &str| place(fault(Code::UnknownAgent).at(field));
        assert_eq!(field("jobs[0].agent").as_deref(), Some("stdin:2:20: jobs[0].agent"));
        assert_eq!(field("result").as_deref(), Some("stdin: result"));
        assert_eq!(place(fault(Code::StoreBusy)), None);
        let argument = |field: &str| Origin::CommandLine.place(fault(Code::UnknownAgent).at(field)).place;
        assert_eq!(argument("jobs[0].agent").as_deref(), Some("--agent"));
        assert_eq!(argument("jobs[0].description").as_deref(), Some("the question"));
    }
}
