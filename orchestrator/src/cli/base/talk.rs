//! Talk on stderr: short remarks, logs, and faults. A live display steps aside for them.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::ProgressBar;
use legwork_shared::fault::{Code, Fault};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use super::Format;

/// What logs tell, as a filter.
pub const LOG_VARIABLE: &str = "LEGWORK_LOG";

/// The live display that is on the screen, if there is one.
static DISPLAY: Mutex<Option<ProgressBar>> = Mutex::new(None);

fn display() -> MutexGuard<'static, Option<ProgressBar>> {
    DISPLAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Everything that is said while the guard lives appears above `bar`.
#[must_use]
pub fn under(bar: &ProgressBar) -> Under {
    *display() = Some(bar.clone());
    Under
}

/// See [`under`].
#[derive(Debug)]
pub struct Under;

impl Drop for Under {
    fn drop(&mut self) {
        *display() = None;
    }
}

/// Says `text` and a line end on stderr. A stderr that cannot be written has no reader who would miss it.
pub fn say(text: &str) {
    let write = || {
        let mut stderr = anstream::stderr().lock();
        let _ = writeln!(stderr, "{text}");
    };
    match display().as_ref() {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Starts logging to stderr: warnings by default, more with each `-v`, or as `filter` says.
///
/// # Errors
/// [`Code::WrongValue`] if `filter` cannot be read.
pub fn start_log(verbosity: u8, filter: Option<&str>, format: Format) -> Result<(), Fault> {
    let default = match verbosity {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let filter = match filter.filter(|text| verbosity == 0 && !text.is_empty()) {
        None => EnvFilter::new(default),
        Some(text) => EnvFilter::try_new(text).map_err(|error| {
            let message = format!("`{text}` is no filter for logs: {error}");
            Fault::new(
                Code::WrongValue,
                message,
                "give it a level such as `info`, or `legwork=debug`",
            )
            .at(format!("environment {LOG_VARIABLE}"))
        })?,
    };
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(Aside)
        .with_target(false);
    // A subscriber that is there already, as in tests, keeps its place.
    let _ = match format {
        Format::Json => log.json().try_init(),
        Format::Text => log.with_ansi(ansi()).compact().try_init(),
    };
    Ok(())
}

fn ansi() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

/// Writes logs while the live display steps aside.
struct Aside;

impl<'a> MakeWriter<'a> for Aside {
    type Writer = AsideWriter;

    fn make_writer(&'a self) -> AsideWriter {
        AsideWriter
    }
}

struct AsideWriter;

impl Write for AsideWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match display().as_ref() {
            Some(bar) => bar.suspend(|| io::stderr().write_all(bytes))?,
            None => io::stderr().write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
