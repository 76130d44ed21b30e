//! Loading agents, and finding them by name.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use legwork_shared::agent::parse::{self, ParsedAgent};
use legwork_shared::agent::{AgentSpec, RunnerSpec};
use legwork_shared::fault::{Code, Fault};
use legwork_shared::nearest::nearest;
use legwork_shared::submit::Agents;

use super::{EXTRACTIVE, SHIPPED};

/// More files in one folder are no collection of agents.
const FILES_MAX: usize = 1_000;
/// The folder, below a project's own, in which other coding agents keep theirs.
const FOREIGN_FOLDER: &str = ".claude";

/// Where an agent comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It is part of the program.
    Shipped,
    /// It was read from that file.
    File(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shipped => f.write_str("built in"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The agents there are, by name.
#[derive(Debug, Clone, Default)]
pub struct AgentLibrary {
    agents: BTreeMap<String, (Arc<AgentSpec>, Origin)>,
    warnings: Vec<String>,
}

/// The folders that are looked into, the nearest first: `agents` and `.claude/agents` of the project, then `agents` in the
/// folder of the configuration.
#[must_use]
pub fn usual_folders(project: &Path, configuration: Option<&Path>) -> Vec<PathBuf> {
    let near = [project.join("agents"), project.join(FOREIGN_FOLDER).join("agents")];
    let far = configuration.map(|folder| folder.join("agents"));
    near.into_iter().chain(far).collect()
}

impl AgentLibrary {
    /// The agents inside the program.
    ///
    /// # Panics
    /// Never: a test reads each of them.
    #[must_use]
    pub fn shipped() -> Self {
        let agents = SHIPPED.iter().map(|(file, text)| {
            let spec = parse::markdown(text, file).expect("a shipped agent is valid").spec;
            (spec.name.clone(), (Arc::new(spec), Origin::Shipped))
        });
        Self {
            agents: agents.collect(),
            warnings: Vec::new(),
        }
    }

    /// The agents inside the program and those of `folders`, the nearest folder first: of two with one name the nearer
    /// one wins, and any of them wins over a shipped one. A folder that is not there is no error.
    ///
    /// A file that cannot be read as an agent is an error, except in the folder of another program, where it is left out
    /// with a warning.
    ///
    /// # Errors
    /// A [`Fault`] with file, line and field.
    pub fn load(folders: &[PathBuf]) -> Result<Self, Fault> {
        let mut library = Self::shipped();
        for folder in folders.iter().rev() {
            library.add_folder(folder)?;
        }
        library.warn_of_strangers();
        Ok(library)
    }

    fn add_folder(&mut self, folder: &Path) -> Result<(), Fault> {
        let is_foreign = folder.components().any(|part| part.as_os_str() == FOREIGN_FOLDER);
        let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
        for path in files_of(folder)? {
            let parsed = match read(&path) {
                Ok(parsed) => parsed,
                Err(fault) if is_foreign => {
                    self.warnings.push(format!("left out: {fault}"));
                    continue;
                }
                Err(fault) => return Err(fault),
            };
            self.warnings.extend(parsed.warnings);
            let name = parsed.spec.name.clone();
            if let Some(other) = found.insert(name.clone(), path.clone()) {
                let message = format!("the agent `{name}` is already in {}", other.display());
                return Err(Fault::new(Code::AgentFile, message, "rename one of them").at(path.display().to_string()));
            }
            self.agents.insert(name, (Arc::new(parsed.spec), Origin::File(path)));
        }
        Ok(())
    }

    /// Warns of agents that may hand work to somebody who is not there: a plan may still bring that one.
    fn warn_of_strangers(&mut self) {
        let mut warnings = Vec::new();
        for (spec, origin) in self.agents.values() {
            let strangers = spec
                .agents
                .iter()
                .flatten()
                .filter(|name| !self.agents.contains_key(*name));
            for stranger in strangers {
                let hint = nearest(stranger, self.agents.keys().map(String::as_str))
                    .map(|name| format!("; did you mean `{name}`?"))
                    .unwrap_or_default();
                warnings.push(format!("{origin}: agents: there is no agent `{stranger}`{hint}"));
            }
        }
        self.warnings.extend(warnings);
    }

    /// The same agents, with those that can work without a language model set to do so.
    ///
    /// An agent of the user's with one of these names stays as it is.
    #[must_use]
    pub fn extractive(mut self) -> Self {
        for (name, (spec, origin)) in &mut self.agents {
            if *origin == Origin::Shipped && EXTRACTIVE.contains(&name.as_str()) {
                let spec = Arc::make_mut(spec);
                spec.runner = RunnerSpec::Extractive { role: name.clone() };
            }
        }
        self
    }

    /// An agent by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<AgentSpec>> {
        self.agents.get(name).map(|(spec, _)| spec)
    }

    /// Where an agent comes from.
    #[must_use]
    pub fn origin(&self, name: &str) -> Option<&Origin> {
        self.agents.get(name).map(|(_, origin)| origin)
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.agents.keys().map(String::as_str)
    }

    /// What was left aside or translated while loading: a sentence each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl Agents for AgentLibrary {
    fn get(&self, name: &str) -> Option<Arc<AgentSpec>> {
        Self::get(self, name).cloned()
    }

    fn names(&self) -> Vec<String> {
        Self::names(self).map(str::to_owned).collect()
    }
}

/// The agent files of a folder by name; none if the folder is not there.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    let unreadable = |error: &std::io::Error| {
        let message = format!("the folder of agents cannot be read: {error}");
        Fault::new(Code::Unreadable, message, "check its permissions").at(folder.display().to_string())
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(&error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unreadable(&error))?.path();
        if is_agent_file(&path) {
            files.push(path);
        }
        if files.len() > FILES_MAX {
            let message = format!("the folder has more than {FILES_MAX} agent files");
            return Err(Fault::new(Code::AgentFile, message, "name another folder").at(folder.display().to_string()));
        }
    }
    files.sort();
    Ok(files)
}

fn is_agent_file(path: &Path) -> bool {
    let named = |ending: &str| {
        path.extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case(ending))
    };
    let is_readme = path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("readme"));
    (named("md") || named("json")) && !is_readme && path.is_file()
}

fn read(path: &Path) -> Result<ParsedAgent, Fault> {
    let place = path.display().to_string();
    let size = std::fs::metadata(path)
        .map(|metadata| metadata.len())
        .unwrap_or_default();
    if size > parse::FILE_BYTES_MAX as u64 {
        let message = format!(
            "the file has {size} bytes, and an agent may have {}",
            parse::FILE_BYTES_MAX
        );
        return Err(Fault::new(
            Code::AgentFile,
            message,
            "shorten the prompt and let the agent read files",
        )
        .at(place));
    }
    let bytes = std::fs::read(path).map_err(|error| {
        let message = format!("the agent file cannot be read: {error}");
        Fault::new(Code::Unreadable, message, "check its permissions").at(place.clone())
    })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Fault::new(Code::NotUtf8, "the agent file is not UTF-8 text", "save it as UTF-8").at(place.clone())
    })?;
    if path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
    {
        parse::json(&text, &place)
    } else {
        parse::markdown(&text, &place)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn folder(files: &[(&str, &str)]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    fn agent(name: &str, description: &str) -> String {
        format!("---\nname: {name}\ndescription: {description}\n---\nWork.\n")
    }

    #[test]
    fn s06_the_shipped_agents_are_valid_and_know_whom_they_name() {
        let library = AgentLibrary::load(&[]).unwrap();
        let names = [
            "analyst",
            "coordinator",
            "general-purpose",
            "researcher",
            "reviewer",
            "writer",
        ];
        assert_eq!(library.names().collect::<Vec<_>>(), names);
        assert_eq!(library.warnings(), [] as [String; 0]);
        assert_eq!(library.origin("writer"), Some(&Origin::Shipped));
        let reachable: Vec<String> = library
            .reachable(&["coordinator".to_owned()])
            .iter()
            .map(|agent| agent.name.clone())
            .collect();
        assert_eq!(reachable, names);
    }

    #[test]
    fn s11_the_nearer_agent_of_one_name_wins_and_any_wins_over_a_shipped_one() {
        let near = folder(&[("mine.md", &agent("writer", "near")), ("README.md", "About.")]);
        let far = folder(&[
            ("writer.md", &agent("writer", "far")),
            ("scout.json", r#"{"description": "s", "prompt": "p"}"#),
        ]);
        let folders = [
            near.path().to_owned(),
            far.path().to_owned(),
            PathBuf::from("/nowhere/at/all"),
        ];
        let library = AgentLibrary::load(&folders).unwrap();
        assert_eq!(library.get("writer").unwrap().description, "near");
        assert_eq!(
            library.origin("writer"),
            Some(&Origin::File(near.path().join("mine.md")))
        );
        assert_eq!(
            library.origin("scout"),
            Some(&Origin::File(far.path().join("scout.json")))
        );
    }

    #[test]
    fn a_broken_file_is_an_error_in_our_folder_and_a_warning_in_another_programs() {
        let project = folder(&[
            ("agents/broken.md", "no front matter"),
            (".claude/agents/odd.md", "no front matter"),
        ]);
        let folders = usual_folders(project.path(), Some(Path::new("/nowhere")));
        let fault = AgentLibrary::load(&folders).unwrap_err();
        assert_eq!(fault.code, Code::AgentFile);
        assert!(fault.to_string().contains("broken.md:1"), "{fault}");
        std::fs::remove_file(project.path().join("agents/broken.md")).unwrap();
        let library = AgentLibrary::load(&folders).unwrap();
        assert!(
            library.warnings()[0].starts_with("left out: LW0303: "),
            "{:?}",
            library.warnings()
        );
    }

    #[test]
    fn two_agents_of_one_name_in_one_folder_are_refused() {
        let both = folder(&[("a.md", &agent("same", "x")), ("b.md", &agent("same", "y"))]);
        let fault = AgentLibrary::load(&[both.path().to_owned()]).unwrap_err().to_string();
        assert!(
            fault.contains("the agent `same` is already in") && fault.contains("b.md"),
            "{fault}"
        );
    }

    #[test]
    fn an_agent_that_names_a_stranger_is_told_of_the_nearest() {
        let text = "---\nname: lead\ndescription: x\nagents: resercher\n---\nWork.\n";
        let own = folder(&[("lead.md", text)]);
        let library = AgentLibrary::load(&[own.path().to_owned()]).unwrap();
        let warning = &library.warnings()[0];
        assert!(
            warning.ends_with("agents: there is no agent `resercher`; did you mean `researcher`?"),
            "{warning}"
        );
    }

    #[test]
    fn without_a_model_the_shipped_researchers_quote_instead() {
        let own = folder(&[("writer.md", &agent("writer", "mine"))]);
        let library = AgentLibrary::load(&[own.path().to_owned()]).unwrap().extractive();
        let runner = |name: &str| library.get(name).unwrap().runner.clone();
        let role = |role: &str| RunnerSpec::Extractive { role: role.to_owned() };
        assert_eq!(runner("analyst"), role("analyst"));
        assert_eq!(runner("coordinator"), RunnerSpec::Agent);
        assert_eq!(
            runner("writer"),
            RunnerSpec::Agent,
            "an agent of the user's stays as it is"
        );
    }

    #[test]
    fn d29_a_file_that_is_not_text_is_told_by_name() {
        let own = folder(&[]);
        std::fs::write(own.path().join("odd.md"), [0xff, 0xfe, 0x00]).unwrap();
        let fault = AgentLibrary::load(&[own.path().to_owned()]).unwrap_err();
        assert_eq!(fault.code, Code::NotUtf8);
    }
}
