//! `legwork doctor`: whether everything is in order.

mod disk;
mod finding;
mod model;
mod store;

use clap::Args;

use self::finding::{Finding, Report};
use super::base::{Context, Exit, Stop};
use super::library;

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
    // A file that could not be read has stopped the command before.
    if context.config_file.exists() {
        Finding::fine("configuration", format!("{file} is read"))
    } else {
        Finding::fine("configuration", format!("there is no {file}; the defaults hold"))
    }
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
