//! `legwork doctor`: whether everything is in order.

mod disk;
mod finding;
mod model;
mod server;
mod store;

use clap::Args;
use legwork_shared::nearest::nearest;

use self::finding::{Finding, Report};
use super::base::{Context, Exit, LOG_VARIABLE, Stop};
use super::library;
use crate::config::Key;

/// What marks the programs that agents have started; not a setting.
const MARK_VARIABLE: &str = "LEGWORK_PROCESS";

/// What `legwork doctor` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  legwork doctor\n  legwork doctor --online --json")]
pub struct DoctorArgs {
    /// Also ask the model for a word, to see that the key is accepted; costs a few tokens
    #[arg(long)]
    online: bool,
}

/// Looks at everything that a run needs, and says what to do where something is not in order.
///
/// # Errors
/// [`Stop`] if stdout cannot be written.
pub async fn doctor(args: &DoctorArgs, context: &Context) -> Result<Exit, Stop> {
    let mut findings = vec![configuration(context), agents(context)];
    findings.extend(disk::look(context));
    findings.extend(store::look(context).await);
    findings.push(model::look(context, args.online).await);
    let report = Report::new(findings);
    context.out.view(&report, Report::text)?;
    Ok(if report.ok { Exit::Success } else { Exit::Refused })
}

fn configuration(context: &Context) -> Finding {
    let file = context.config_file.display();
    let mut names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    if let Some((name, help)) = names.find_map(stray_variable) {
        return Finding::warning("configuration", format!("nothing reads the variable {name}"), help);
    }
    // A file that could not be read has stopped the command before.
    if context.config_file.exists() {
        Finding::fine("configuration", format!("{file} is read"))
    } else {
        Finding::fine("configuration", format!("there is no {file}; the defaults hold"))
    }
}

/// A variable that looks like one of ours and is none, with what may be meant.
fn stray_variable(name: String) -> Option<(String, String)> {
    let ours: Vec<&str> = Key::ALL
        .iter()
        .map(|key| key.info().variable)
        .chain([LOG_VARIABLE, MARK_VARIABLE])
        .collect();
    if !name.starts_with("LEGWORK_") || ours.contains(&name.as_str()) {
        return None;
    }
    let help = match nearest(&name, ours.iter().copied()) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => "see `legwork config`".to_owned(),
    };
    Some((name, help))
}

fn agents(context: &Context) -> Finding {
    match library::load(context) {
        Err(fault) => Finding::fault("agents", &fault),
        Ok(library) => {
            let count = library.names().count();
            match library.warnings() {
                [] => Finding::fine("agents", format!("{count} agents are known")),
                [first, ..] => Finding::warning("agents", first.clone(), "see `legwork agents`"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_variable_is_told_and_ours_are_not() {
        let stray = |name: &str| stray_variable(name.to_owned()).map(|(_, help)| help);
        assert_eq!(stray("LEGWORK_SLOT").as_deref(), Some("did you mean LEGWORK_SLOTS?"));
        assert_eq!(
            [stray("LEGWORK_LOG"), stray("LEGWORK_STORE"), stray("HOME")],
            [None, None, None]
        );
    }
}
