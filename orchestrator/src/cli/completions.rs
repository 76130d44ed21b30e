//! `legwork completions`: what a shell needs to complete our commands.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::Cli;
use super::base::{Exit, Stop, print_bytes};

/// What `legwork completions` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  legwork completions bash > ~/.local/share/bash-completion/completions/legwork\n  legwork completions fish | source"
)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the completions of a shell.
///
/// # Errors
/// [`Stop`] if stdout cannot be written.
pub fn completions(args: &CompletionsArgs) -> Result<Exit, Stop> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "legwork", &mut script);
    print_bytes(&script)?;
    Ok(Exit::Success)
}
