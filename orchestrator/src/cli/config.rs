//! `legwork config`: the effective settings and where each comes from.

use clap::Args;
use serde::Serialize;

use super::base::{Context, Exit, Stop};
use crate::output::Table;

/// What `legwork config` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  legwork config\n  LEGWORK_SLOTS=2 legwork config --json")]
pub struct ConfigArgs {}

/// The settings, for programs.
#[derive(Debug, Serialize)]
struct ConfigView {
    /// The configuration file.
    file: String,
    /// Whether it is there.
    file_exists: bool,
    /// Every key.
    settings: Vec<SettingView>,
}

#[derive(Debug, Serialize)]
struct SettingView {
    key: &'static str,
    value: Option<String>,
    origin: String,
    variable: &'static str,
    about: &'static str,
}

/// Shows every setting.
///
/// # Errors
/// [`Stop`] if stdout cannot be written.
pub fn config(_args: &ConfigArgs, context: &Context) -> Result<Exit, Stop> {
    let entries = context.settings.entries.iter().map(|entry| {
        let info = entry.key.info();
        SettingView {
            key: info.name,
            value: entry.shown(),
            origin: entry.origin.to_string(),
            variable: info.variable,
            about: info.about,
        }
    });
    let view = ConfigView {
        file: context.config_file.display().to_string(),
        file_exists: context.config_file.exists(),
        settings: entries.collect(),
    };
    context.out.table(&view, table)?;
    Ok(Exit::Success)
}

fn table(view: &ConfigView) -> Table {
    let mut table = Table::new(&["key", "value", "from", "variable", "about"]);
    for setting in &view.settings {
        table.row([
            setting.key.to_owned(),
            setting.value.clone().unwrap_or_else(|| "-".to_owned()),
            setting.origin.clone(),
            setting.variable.to_owned(),
            setting.about.to_owned(),
        ]);
    }
    table.row([
        "file".to_owned(),
        view.file.clone(),
        if view.file_exists { "read" } else { "not there" }.to_owned(),
    ]);
    table
}
