//! Plans: read from a file, or made from a question.

use std::path::{Path, PathBuf};

use clap::Args;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::plan::{Need, Plan, PlannedJob, parse};
use legwork_shared::submit::check_description;

use super::base::{STDIN, absolute_sources, read_text};
use super::origin::Origin;
use crate::config::{Settings, micro_usd};

/// What a run may use up, as flags.
#[derive(Debug, Clone, Default, Args)]
pub struct Limits {
    /// Tokens that the run may use
    #[arg(long, value_name = "N")]
    budget_tokens: Option<u64>,
    /// What the run may cost, in US dollars
    #[arg(long, value_name = "USD", value_parser = micro_usd)]
    budget_usd: Option<u64>,
    /// Jobs that the run may have, those handed out by agents included
    #[arg(long, value_name = "N")]
    max_jobs: Option<u64>,
}

impl Limits {
    /// Sets the plan's limits: a flag wins over the plan, the plan over the configuration.
    pub fn apply(&self, plan: &mut Plan, settings: &Settings) {
        let limits = &mut plan.limits;
        limits.tokens = self.budget_tokens.or(limits.tokens).or(settings.budget_tokens);
        limits.cost_micro_usd = self.budget_usd.or(limits.cost_micro_usd).or(settings.budget_micro_usd);
        limits.jobs = self.max_jobs.or(limits.jobs).or(settings.max_jobs);
    }
}

/// Reads a plan; its sources become absolute and are looked at.
///
/// # Errors
/// [`Fault`] with file, line and column.
pub fn read(path: &Path) -> Result<(Plan, Origin), Fault> {
    let text = read_text(path)?;
    let is_stdin = path.as_os_str() == STDIN;
    let name = if is_stdin {
        "stdin".to_owned()
    } else {
        path.display().to_string()
    };
    let mut plan = parse(&text, &name)?;
    // What a file names is beside the file; what comes through a pipe is named from where we are.
    let base = path.parent().filter(|_| !is_stdin).unwrap_or(Path::new(""));
    let sources: Vec<PathBuf> = plan.sources.iter().map(PathBuf::from).collect();
    plan.sources = absolute_sources(&sources, base)?;
    Ok((plan, Origin::File { name, text }))
}

/// The plan in which one agent answers the question, and hands out what it likes.
///
/// # Errors
/// [`Code::EmptyPrompt`] or [`Code::LongPrompt`].
pub fn for_agent(question: &str, agent: &str) -> Result<Plan, Fault> {
    check_description(question).map_err(|fault| fault.at("the question"))?;
    Ok(Plan {
        title: Some(question.to_owned()),
        jobs: vec![job(agent, agent, question, &[])],
        ..Plan::default()
    })
}

/// The plan that needs no language model: two look for themselves, one weighs what they found, one writes it down.
///
/// # Errors
/// [`Code::EmptyPrompt`] or [`Code::LongPrompt`]; [`Code::Sources`] without sources, as there is nothing to quote then.
pub fn extractive(question: &str, sources: &[String]) -> Result<Plan, Fault> {
    check_description(question).map_err(|fault| fault.at("the question"))?;
    if !question.contains(char::is_alphanumeric) {
        let help = "ask in words, some of which stand in the documents";
        return Err(Fault::new(Code::EmptyPrompt, "there is no word in it to search for", help).at("the question"));
    }
    if sources.is_empty() {
        return Err(nothing_to_quote());
    }
    Ok(Plan {
        title: Some(question.to_owned()),
        result: Some("writer".to_owned()),
        jobs: vec![
            job("researcher", "researcher", question, &[]),
            job("reviewer", "reviewer", question, &[]),
            job("analyst", "analyst", question, &["researcher", "reviewer"]),
            job("writer", "writer", question, &["analyst"]),
        ],
        ..Plan::default()
    })
}

/// What is wrong where there is neither a model nor a source, with both ways out.
#[must_use]
pub fn nothing_to_quote() -> Fault {
    let message = "there is neither a language model nor a document to quote from";
    let help = "name a folder with --sources, or set OPENAI_API_KEY, ANTHROPIC_API_KEY or OLLAMA_HOST";
    Fault::new(Code::Sources, message, help)
}

fn job(id: &str, agent: &str, description: &str, needs: &[&str]) -> PlannedJob {
    PlannedJob {
        id: id.to_owned(),
        agent: Some(agent.to_owned()),
        description: description.to_owned(),
        depends_on: needs.iter().map(|name| Need::Name((*name).to_owned())).collect(),
        ..PlannedJob::default()
    }
}

#[cfg(test)]
mod tests {
    use legwork_worker::agents::AgentLibrary;

    use super::*;
    use crate::cli::library;

    #[test]
    fn s26_the_example_plans_are_valid() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ops/examples/plans");
        let files = std::fs::read_dir(folder).expect("the folder of examples");
        let mut count = 0;
        for file in files {
            let path = file.expect("an entry").path();
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            let (plan, _) = read(&path).unwrap_or_else(|fault| panic!("{fault}"));
            assert_eq!(
                library::check(&plan, &AgentLibrary::shipped()),
                Ok(()),
                "{}",
                path.display()
            );
            count += 1;
        }
        assert_eq!(count, 8);
    }

    #[test]
    fn a_flag_wins_over_the_plan_and_the_plan_over_the_settings() {
        let mut plan = parse("limits: {tokens: 5, jobs: 7}\njobs: []", "p").expect("a plan");
        let limits = Limits {
            budget_tokens: Some(9),
            ..Limits::default()
        };
        let settings = Settings::resolve(&crate::config::Layers {
            flags: &[],
            env: &|name| (name == "LEGWORK_BUDGET_USD" || name == "LEGWORK_MAX_JOBS").then(|| "3".to_owned()),
            file: &[],
            data_dir: Path::new("/data"),
        });
        limits.apply(&mut plan, &settings.expect("settings"));
        let found = (plan.limits.tokens, plan.limits.jobs, plan.limits.cost_micro_usd);
        assert_eq!(found, (Some(9), Some(7), Some(3_000_000)));
    }
}
