//! What runners say of themselves: one line for each deed, in a file that all of them append to.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use legwork_shared::id::JobId;
use serde::{Deserialize, Serialize};

/// A deed of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The job.
    pub job: JobId,
    /// The attempt.
    pub attempt: u32,
    /// The process that it runs in.
    pub pid: u32,
    /// What it does.
    #[serde(flatten)]
    pub deed: Deed,
}

/// What an attempt does. What stands in the present is about to be asked of the store, what stands in the past was
/// acknowledged by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "deed", rename_all = "snake_case")]
pub enum Deed {
    /// Its runner began.
    Started,
    /// It spends tokens.
    Spends {
        /// How many.
        tokens: u64,
    },
    /// It has.
    Spent {
        /// How many.
        tokens: u64,
    },
    /// It hands out jobs.
    HandsOut {
        /// How many.
        count: usize,
    },
    /// It has.
    HandedOut {
        /// Which.
        jobs: Vec<JobId>,
    },
    /// It writes a file, to be published with its answer.
    Writes {
        /// Where.
        path: String,
        /// SHA-256 of the bytes, in hex.
        sha256: String,
    },
    /// It ends with a result.
    Answers {
        /// The result.
        text: String,
    },
    /// It ends with an error.
    Fails,
    /// The store took it for one that has lost its lease.
    Refused,
}

/// The file of the deeds. A line is one write at the file's end, so the order of the lines is the order of the deeds.
#[derive(Debug)]
pub struct MarkLog(File);

impl MarkLog {
    /// Opens the file, which is made if it is missing.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path);
        Ok(Self(file.with_context(|| path.display().to_string())?))
    }

    /// Appends a deed.
    ///
    /// # Errors
    /// What the system says.
    pub fn note(&self, mark: &Mark) -> Result<()> {
        let line = format!("{}\n", serde_json::to_string(mark)?);
        (&self.0).write_all(line.as_bytes())?;
        Ok(())
    }

    /// All deeds so far.
    ///
    /// # Errors
    /// The file cannot be read, or a line is none.
    pub fn read(path: &Path) -> Result<Vec<Mark>> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let mark = |line: &str| serde_json::from_str(line).with_context(|| format!("a mark: {line}"));
        text.lines().map(mark).collect()
    }
}
