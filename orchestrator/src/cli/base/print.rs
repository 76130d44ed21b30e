//! Data on stdout.

use std::io::{self, ErrorKind, IsTerminal as _, Write};

use legwork_shared::fault::{Code, Fault};
use serde::Serialize;

use super::{Format, Stop};
use crate::output::Table;

/// Columns of a text that is not shown on a terminal, where a width is needed.
const COLUMNS_UNKNOWN: u16 = 120;

/// The way to stdout.
#[derive(Debug, Clone, Copy)]
pub struct Out {
    /// What the caller wants to read.
    pub format: Format,
}

impl Out {
    /// Prints `view` as one JSON document, or the text made of it.
    ///
    /// # Errors
    /// [`Stop`] if stdout cannot be written.
    pub fn view<T: Serialize>(self, view: &T, text: impl FnOnce(&T) -> String) -> Result<(), Stop> {
        match self.format {
            Format::Json => {
                let json = serde_json::to_string_pretty(view).map_err(|error| unprintable(&error))?;
                print(&(json + "\n"))
            }
            Format::Text => print(&text(view)),
        }
    }

    /// Prints `view` as one JSON document, or the table made of it: aligned on a terminal, else with tabs.
    ///
    /// # Errors
    /// [`Stop`] if stdout cannot be written.
    pub fn table<T: Serialize>(self, view: &T, table: impl FnOnce(&T) -> Table) -> Result<(), Stop> {
        self.view(view, |view| {
            let table = table(view);
            if io::stdout().is_terminal() {
                table.aligned(columns())
            } else {
                table.plain()
            }
        })
    }

    /// Prints one part of a stream: a line of JSON, or the text made of it.
    ///
    /// # Errors
    /// [`Stop`] if stdout cannot be written.
    pub fn part<T: Serialize>(self, view: &T, text: impl FnOnce(&T) -> String) -> Result<(), Stop> {
        match self.format {
            Format::Json => print(&(serde_json::to_string(view).map_err(|error| unprintable(&error))? + "\n")),
            Format::Text => print(&text(view)),
        }
    }
}

/// Prints text with its colours, where stdout wants them.
///
/// # Errors
/// [`Stop`] if stdout cannot be written.
pub fn print(text: &str) -> Result<(), Stop> {
    write(&mut anstream::stdout().lock(), text.as_bytes())
}

/// Prints bytes as they are.
///
/// # Errors
/// [`Stop`] if stdout cannot be written.
pub fn print_bytes(bytes: &[u8]) -> Result<(), Stop> {
    write(&mut io::stdout().lock(), bytes)
}

/// The width of the terminal behind stdout.
#[must_use]
pub fn columns() -> u16 {
    console::Term::stdout()
        .size_checked()
        .map_or(COLUMNS_UNKNOWN, |(_, columns)| columns)
}

fn write(stdout: &mut impl Write, bytes: &[u8]) -> Result<(), Stop> {
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Stop::ReaderGone),
        Err(error) => {
            let message = format!("stdout cannot be written: {error}");
            Err(Fault::new(Code::StoreFull, message, "make room or choose another target").into())
        }
    }
}

fn unprintable(error: &serde_json::Error) -> Stop {
    let message = format!("the answer cannot be written as JSON: {error}");
    Fault::new(Code::Internal, message, "report this as a bug").into()
}
