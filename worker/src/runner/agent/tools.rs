//! The tools that the worker gives to agents.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use legwork_shared::agent::{AgentSpec, delegation, todos};
use legwork_shared::job::{FailReason, JobError};

use crate::docs::{Corpus, DocIndex, Document};
use crate::tool::{DocHit, DocSearch, DocSearchError, ToolBox};
use crate::workspace::{SOURCES_FOLDER, Sources};

/// Whether the agent loop handles a tool itself.
fn is_of_the_loop(name: &str) -> bool {
    [todos::WRITE, todos::READ].contains(&name) || delegation::NAMES.contains(&name)
}

/// Whether an agent was denied a tool of the loop.
pub(super) fn is_excluded(agent: &AgentSpec, name: &str) -> bool {
    agent.excluded_tools.iter().any(|excluded| excluded == name)
}

/// The tools of one agent's job.
///
/// # Errors
/// A fatal error that names the tool that is not there and the nearest that is.
pub(super) fn of_agent(all: &ToolBox, agent: &AgentSpec) -> Result<ToolBox, JobError> {
    let without = |names: &[String]| -> Vec<String> {
        let ours = names.iter().filter(|name| !is_of_the_loop(name));
        ours.cloned().collect()
    };
    let wanted = agent.tools.as_deref().map(without);
    all.select(wanted.as_deref(), &without(&agent.excluded_tools))
        .map_err(|error| {
            let message = format!("agent `{}`: {error}", agent.name);
            JobError::fatal(FailReason::Error, "unknown_tool", message)
        })
}

/// Search over the sources of a run, indexed when it is first asked.
pub(super) struct LazyDocs {
    sources: Arc<Sources>,
    index: OnceLock<Result<DocIndex, DocSearchError>>,
}

impl LazyDocs {
    fn new(sources: Arc<Sources>) -> Self {
        Self {
            sources,
            index: OnceLock::new(),
        }
    }

    fn build(&self) -> Result<DocIndex, DocSearchError> {
        let folder = format!("{SOURCES_FOLDER}/");
        // A file that went away or cannot be read any more is not found: the search over the others is still good.
        let documents = self.sources.files().iter().filter_map(|file| {
            let bytes = self.sources.read(&file.path).ok()?;
            let path = file.path.as_str();
            Document::read(path.strip_prefix(&folder).unwrap_or(path), &bytes)
        });
        let corpus = Corpus {
            documents: documents.collect(),
            left_out: Vec::new(),
        };
        DocIndex::build(corpus).map_err(|error| DocSearchError(error.to_string()))
    }
}

impl DocSearch for LazyDocs {
    fn search(&self, query: &str, limit: usize) -> Result<Vec<DocHit>, DocSearchError> {
        match self.index.get_or_init(|| self.build()) {
            Ok(index) => DocSearch::search(index, query, limit),
            Err(error) => Err(error.clone()),
        }
    }
}

/// The indices of the runs at work: the jobs of a run share one for as long as one of them runs.
#[derive(Default)]
pub(super) struct DocIndices(Mutex<BTreeMap<Vec<String>, Weak<LazyDocs>>>);

impl DocIndices {
    /// The index over the sources that the run named with `folders`; `None` if there are none.
    pub(super) fn of(&self, folders: &[String], sources: &Arc<Sources>) -> Option<Arc<LazyDocs>> {
        if folders.is_empty() {
            return None;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, index| index.strong_count() > 0);
        if let Some(index) = known.get(folders).and_then(Weak::upgrade) {
            return Some(index);
        }
        let index = Arc::new(LazyDocs::new(Arc::clone(sources)));
        known.insert(folders.to_vec(), Arc::downgrade(&index));
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::AgentLibrary;

    #[test]
    fn s06_every_shipped_agent_finds_the_tools_that_it_names() {
        let all = ToolBox::standard();
        let library = AgentLibrary::shipped();
        for name in library.names() {
            let agent = library.get(name).unwrap();
            assert!(of_agent(&all, agent).is_ok(), "{name}");
        }
    }

    #[test]
    fn s14_tools_that_the_loop_handles_itself_are_no_slip() {
        let all = ToolBox::standard();
        let agent = AgentSpec {
            name: "a".to_owned(),
            tools: Some(vec!["calculate".to_owned(), "task".to_owned()]),
            excluded_tools: vec!["write_todos".to_owned(), "grep".to_owned()],
            ..AgentSpec::default()
        };
        let names: Vec<String> = of_agent(&all, &agent)
            .unwrap()
            .specs()
            .into_iter()
            .map(|spec| spec.name.clone())
            .collect();
        assert_eq!(
            names,
            ["calculate", "edit_file", "glob", "ls", "read_file", "write_file"]
        );
        let typo = AgentSpec {
            tools: Some(vec!["calculat".to_owned()]),
            ..agent
        };
        let error = of_agent(&all, &typo).err().unwrap();
        assert!(error.message.contains("did you mean `calculate`?"), "{}", error.message);
    }
}
