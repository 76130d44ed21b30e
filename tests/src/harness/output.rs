//! What a command left behind.

use std::fmt;
use std::process::ExitStatus;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The output of a command that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// What was run, for messages.
    pub command: String,
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// Data.
    pub stdout: String,
    /// Everything else.
    pub stderr: String,
}

impl Output {
    /// The output of `command`.
    ///
    /// # Panics
    /// When it is not UTF-8.
    pub(super) fn new(command: String, status: ExitStatus, stdout: Vec<u8>, stderr: Vec<u8>) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the program prints UTF-8");
        Self {
            command,
            code: status.code(),
            stdout: text(stdout),
            stderr: text(stderr),
        }
    }

    /// The same, after a look at the exit code.
    ///
    /// # Panics
    /// When the code is another one, with all of the output.
    #[must_use]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// What it printed on stdout, after a look at the exit code: 0.
    ///
    /// # Panics
    /// When it failed, with all of the output.
    #[must_use]
    pub fn success(self) -> String {
        self.expect_code(0).stdout
    }

    /// The one JSON document on stdout.
    ///
    /// # Panics
    /// When it is none of this type.
    #[must_use]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in the stdout of {self}"))
    }

    /// The documents on stdout, one on each line.
    ///
    /// # Panics
    /// When a line is none of this type.
    #[must_use]
    pub fn json_lines<T: DeserializeOwned>(&self) -> Vec<T> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line} of {self}"));
        self.stdout.lines().map(parse).collect()
    }

    /// The error that `--json` put on stderr.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn json_error(&self) -> Value {
        let mut lines = self.stderr.lines();
        let error = lines.find_map(|line| serde_json::from_str::<Value>(line).ok()?.get("error").cloned());
        error.unwrap_or_else(|| panic!("no error in the stderr of {self}"))
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self
            .code
            .map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
        writeln!(f, "`{}`, ended by {code}", self.command)?;
        write!(f, "-- stdout\n{}\n-- stderr\n{}", self.stdout, self.stderr)
    }
}
