//! How a job or a run ended, for the end of a log and of a run.

use chrono::TimeZone;
use legwork_shared::job::{JobState, Outcome};
use legwork_shared::run::RunState;
use legwork_shared::time::Timestamp;
use legwork_shared::wire::{JobView, RunResult, RunStatus};

use super::{Detail, body, human, paint_job_state, paint_run_state, summary_line, symbol, without_controls};

/// Failed jobs that the end of a run names; more are counted.
const FAILED_SHOWN_MAX: usize = 5;

/// An outcome as the last line of a log; before it the answer, where `answer` says in which detail.
#[must_use]
pub fn ending<Z: TimeZone>(outcome: &Outcome, answer: Option<Detail>, at: Timestamp, zone: &Z) -> String {
    let state = outcome.state();
    let words = match outcome {
        Outcome::Succeeded { .. } => "succeeded".to_owned(),
        Outcome::Failed { error } => format!(
            "failed: {}: {}",
            error.reason.as_str(),
            without_controls(&error.message)
        ),
        Outcome::Cancelled { by, reason } if reason.is_empty() => format!("cancelled by {}", without_controls(by)),
        Outcome::Cancelled { by, reason } => {
            format!("cancelled by {}: {}", without_controls(by), without_controls(reason))
        }
        Outcome::Skipped { cause } => format!("skipped because of {cause}"),
    };
    let text = outcome
        .result()
        .zip(answer)
        .map(|(result, detail)| body(&result.text, detail));
    let last = format!("{} {}\n", human::clock_time(at, zone), paint_job_state(state, &words));
    text.unwrap_or_default() + &last
}

/// The last words about a run: how it ended and what it took, and why where it did not succeed.
#[must_use]
pub fn run_ending(status: &RunStatus) -> String {
    let state = status.run.state;
    let mut text = format!(
        "{} · {} · {}",
        paint_run_state(state, state.as_str()),
        summary_line(status),
        status.run.id
    );
    if state == RunState::Succeeded {
        return text;
    }
    let failed: Vec<&JobView> = status.jobs.iter().filter(|job| job.state == JobState::Failed).collect();
    for job in failed.iter().take(FAILED_SHOWN_MAX) {
        let message = job.error.as_ref().map_or("", |error| error.message.as_str());
        let line = format!(
            "{} {}: {}",
            symbol(job.state),
            without_controls(&job.name),
            without_controls(message)
        );
        text += &format!("\n{}", paint_job_state(job.state, &line));
    }
    if failed.len() > FAILED_SHOWN_MAX {
        text += &format!(
            "\n  and {} more",
            human::counted((failed.len() - FAILED_SHOWN_MAX) as u64, "failed job")
        );
    }
    if let Some(job) = failed.first() {
        let (run, name) = (status.run.id, without_controls(&job.name));
        text += &format!("\n  legwork logs {run}/{name}    legwork retry {run}/{name}");
    }
    text
}

/// The results of a run as one text: the only one as it is, several under their names.
#[must_use]
pub fn results_text(result: &RunResult) -> String {
    let ended = |text: &str| {
        if text.is_empty() || text.ends_with('\n') {
            text.to_owned()
        } else {
            format!("{text}\n")
        }
    };
    match result.results.as_slice() {
        [only] => ended(&only.text),
        several => {
            let part = |one: &legwork_shared::wire::ResultView| format!("# {}\n\n{}", one.name, ended(&one.text));
            several.iter().map(part).collect::<Vec<_>>().join("\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use chrono::Utc;
    use legwork_shared::job::{FailReason, JobError};
    use legwork_shared::wire::ResultView;

    use super::*;
    use crate::output::samples;

    #[test]
    fn a_run_that_failed_says_why_and_what_to_do() {
        insta::assert_snapshot!(strip_str(&run_ending(&samples::status())));
    }

    #[test]
    fn an_ending_is_one_line() {
        let error = JobError::fatal(FailReason::Budget, "budget", "no tokens are left");
        let text = ending(&Outcome::Failed { error }, None, samples::NOW, &Utc);
        assert_eq!(
            strip_str(&text).to_string(),
            "19:51:24 failed: budget: no tokens are left\n"
        );
    }

    #[test]
    fn one_result_is_printed_as_it_is_and_several_under_their_names() {
        let one = |name: &str, text: &str| ResultView {
            job: samples::id(1),
            name: name.into(),
            text: text.into(),
            data: None,
            notes: vec![],
        };
        let mut result = RunResult {
            run: samples::status().run.id,
            state: RunState::Succeeded,
            results: vec![one("writer", "# Report")],
        };
        assert_eq!(results_text(&result), "# Report\n");
        result.results.push(one("critic", "Fine.\n"));
        assert_eq!(results_text(&result), "# writer\n\n# Report\n\n# critic\n\nFine.\n");
    }
}
