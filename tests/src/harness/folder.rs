//! A folder in which the program runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use legwork_shared::wire::{EventView, JobView, RunList, RunStatus};
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::wait::DEADLINE;
use super::{Output, program};
use crate::model_server::{ModelServer, Wire};

/// Names the address of the store that the tests use, where it is not a file of their own: see the program `with-store`.
pub const STORE_VARIABLE: &str = "LEGWORK_TEST_STORE";

/// The program with a home, a working folder, a store and an environment of its own.
#[derive(Debug)]
pub struct Legwork {
    folder: TempDir,
    store: PathBuf,
    environment: BTreeMap<String, String>,
}

impl Legwork {
    /// The program in an empty folder, without a language model. Its store is empty: a file there, or in a corner of its own
    /// of the store that [`STORE_VARIABLE`] names.
    ///
    /// # Panics
    /// When there is no room for a folder.
    #[must_use]
    pub fn new() -> Self {
        let legwork = Self::in_a_file();
        let Ok(address) = std::env::var(STORE_VARIABLE) else {
            return legwork;
        };
        let name = legwork.folder().file_name().expect("a folder has a name").display();
        let own = address.replace("prefix=e2e", &format!("prefix=e2e{name}"));
        assert_ne!(own, address, "{STORE_VARIABLE} should hold `prefix=e2e`");
        legwork.with_store(&own)
    }

    /// The program with its store in a file, for tests that are about the file.
    ///
    /// # Panics
    /// When there is no room for a folder.
    #[must_use]
    pub fn in_a_file() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["home", "work", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let place = |name: &str| folder.path().join(name).display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let environment = [
            ("PATH", path),
            ("HOME", place("home")),
            ("XDG_CONFIG_HOME", place("home/config")),
            ("XDG_DATA_HOME", place("home/data")),
            ("TMPDIR", place("tmp")),
            ("LANG", "C.UTF-8".to_owned()),
            ("TZ", "UTC".to_owned()),
            ("RUST_BACKTRACE", "1".to_owned()),
        ];
        Self {
            store: folder.path().join("store/legwork.db"),
            environment: environment.map(|(name, value)| (name.to_owned(), value)).into(),
            folder,
        }
    }

    /// The same with a variable of the environment.
    #[must_use]
    pub fn with_env(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The same with its store elsewhere, such as on a server.
    #[must_use]
    pub fn with_store(mut self, place: &str) -> Self {
        self.store = PathBuf::from(place);
        self
    }

    /// The same with the model `m` behind `server`, over `wire`, under `key`.
    #[must_use]
    pub fn with_model(self, server: &ModelServer, wire: Wire, key: &str) -> Self {
        match wire {
            Wire::OpenAi => self
                .with_env("OPENAI_BASE_URL", &server.openai_base_url())
                .with_env("OPENAI_API_KEY", key)
                .with_env("LEGWORK_MODEL", "openai:m"),
            Wire::Anthropic => self
                .with_env("ANTHROPIC_BASE_URL", &server.anthropic_base_url())
                .with_env("ANTHROPIC_API_KEY", key)
                .with_env("LEGWORK_MODEL", "anthropic:m"),
        }
    }

    /// The folder that holds all the rest.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The store: a file, or an address.
    #[must_use]
    pub fn store(&self) -> &Path {
        &self.store
    }

    /// Whether the store is a file of this machine, on which a successor knows at once that a process is gone.
    #[must_use]
    pub fn is_in_a_file(&self) -> bool {
        !self.store.to_string_lossy().contains("://")
    }

    /// A path in the working folder, where commands run.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    /// Writes a file into the working folder, and the folders on the way.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        let folder = path.parent().expect("a file has a folder");
        std::fs::create_dir_all(folder).expect("the folder of a file");
        std::fs::write(path, content).expect("a file");
    }

    /// A file of the working folder.
    ///
    /// # Panics
    /// When it cannot be read.
    #[must_use]
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs a command to its end.
    ///
    /// # Panics
    /// When it does not end before the deadline.
    pub async fn run(&self, args: &[&str]) -> Output {
        self.spawn(args).wait().await
    }

    /// Runs a command that reads `stdin`.
    ///
    /// # Panics
    /// When it does not end before the deadline.
    pub async fn run_with_stdin(&self, args: &[&str], stdin: &[u8]) -> Output {
        let mut command = self.command(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().expect("the program starts");
        let mut pipe = child.stdin.take().expect("stdin is piped");
        // A program that refuses its input may have closed it.
        let _ = pipe.write_all(stdin).await;
        drop(pipe);
        let ended = timeout(DEADLINE, child.wait_with_output()).await;
        let output = ended
            .unwrap_or_else(|_| panic!("`{}` does not end", Self::shown(args)))
            .expect("the output can be read");
        Output::new(Self::shown(args), output.status, output.stdout, output.stderr)
    }

    /// Runs a command with `--json` that has to succeed, and reads its answer.
    ///
    /// # Panics
    /// When it fails or answers something else.
    pub async fn json<T: DeserializeOwned>(&self, args: &[&str]) -> T {
        self.run(&[&["--json"], args].concat()).await.expect_code(0).json()
    }

    /// Queues a plan and returns the id of its run.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn submit(&self, plan: &str) -> String {
        let output = self.run_with_stdin(&["submit", "-"], plan.as_bytes()).await;
        output.success().trim().to_owned()
    }

    /// How the newest run stands.
    ///
    /// # Panics
    /// When there is none.
    pub async fn status(&self) -> RunStatus {
        self.json(&["status"]).await
    }

    /// A job of the newest run.
    ///
    /// # Panics
    /// When there is none of this name.
    pub async fn job(&self, name: &str) -> JobView {
        let status = self.status().await;
        let job = status.jobs.into_iter().find(|job| job.name == name);
        job.unwrap_or_else(|| panic!("there is no job {name}"))
    }

    /// The runs of the store.
    ///
    /// # Panics
    /// When the store cannot be read.
    pub async fn runs(&self) -> RunList {
        self.json(&["list"]).await
    }

    /// All events of the newest run, which has to have ended.
    ///
    /// # Panics
    /// When it does not end before the deadline.
    pub async fn events(&self) -> Vec<EventView> {
        self.run(&["--json", "watch"]).await.json_lines()
    }

    /// A command, ready to start.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .arg("--store")
            .arg(&self.store)
            .args(args)
            .current_dir(self.path(""))
            .env_clear()
            .envs(&self.environment);
        command
    }

    /// A command as it is shown in messages.
    pub(super) fn shown(args: &[&str]) -> String {
        format!("legwork {}", args.join(" "))
    }
}

impl Default for Legwork {
    fn default() -> Self {
        Self::new()
    }
}
