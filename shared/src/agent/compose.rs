//! What an agent is told at the start: its system prompt and its first message.
//!
//! A job starts with its own instructions, its description and, marked as data, its context, its parents' outcomes and
//! the files that are there. Nothing of its parent's conversation is among it.

use std::fmt::Write as _;

use super::spec::AgentSpec;
use super::{data, outcome};
use crate::job::{JobSpec, Outcome};

/// How much of all parents' outcomes together is shown: about 130,000 tokens would be too much for most models.
const OUTCOMES_BYTES_MAX: usize = 384 * 1024;
/// How much of each is shown at least, however many there are.
const OUTCOME_BYTES_MIN: usize = 160;
/// How many files are listed; the tools list the others.
const FILES_MAX: usize = 100;

/// The outcome of a job that was waited for.
#[derive(Debug, Clone, Copy)]
pub struct Parent<'a> {
    /// Its name in the run.
    pub name: &'a str,
    /// The agent that did it.
    pub agent: &'a str,
    /// How it ended.
    pub outcome: &'a Outcome,
}

/// A file that the agent may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLine {
    /// Where it is.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its media type.
    pub media_type: String,
}

/// What is known when a job starts.
#[derive(Debug, Clone, Copy)]
pub struct Brief<'a> {
    /// What is to be done.
    pub job: &'a JobSpec,
    /// The outcomes that it waited for, in the order in which their jobs were submitted.
    pub parents: &'a [Parent<'a>],
    /// The files of the run's workspace and of its sources.
    pub files: &'a [FileLine],
    /// How many files there are beyond those of `files`.
    pub more_files: usize,
}

/// The system prompt of an agent.
#[must_use]
pub fn system(agent: &AgentSpec) -> String {
    let mut text = agent.prompt.trim().to_owned();
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str("# How you work here\n");
    text.push_str("- You work on your own: nobody answers questions while you work. Where something is unclear, choose the most sensible reading and say so in your answer.\n");
    text.push_str("- Only your last message is returned. It must be complete in itself.\n- ");
    text.push_str(data::RULE);
    if let Some(schema) = &agent.response_format {
        text.push_str("\n- Your last message must be one JSON value that fits the schema below, without any other text.\n\n```json\n");
        text.push_str(&serde_json::to_string_pretty(schema).unwrap_or_default());
        text.push_str("\n```");
    }
    text
}

/// The first message of a job.
#[must_use]
pub fn first_message(brief: &Brief<'_>) -> String {
    let mut text = brief.job.description.trim().to_owned();
    if let Some(context) = &brief.job.context {
        let shown = serde_json::to_string_pretty(context).unwrap_or_default();
        section(&mut text, "Context", &data::quote("context", &shown));
    }
    if !brief.parents.is_empty() {
        section(
            &mut text,
            "Results of the jobs before this one",
            &outcomes(brief.parents),
        );
    }
    if !brief.files.is_empty() {
        section(&mut text, "Files", &files(brief.files, brief.more_files));
    }
    text
}

fn section(text: &mut String, title: &str, body: &str) {
    text.push_str("\n\n# ");
    text.push_str(title);
    text.push('\n');
    text.push_str(body);
}

fn outcomes(parents: &[Parent<'_>]) -> String {
    let share = OUTCOMES_BYTES_MAX / parents.len();
    let bytes_max = share.clamp(OUTCOME_BYTES_MIN, outcome::SHOWN_BYTES_MAX);
    let told = parents.iter().map(|parent| {
        let (word, body) = match parent.outcome {
            Outcome::Succeeded { result } => ("result", outcome::answer_within(result, bytes_max)),
            Outcome::Failed { .. } | Outcome::Cancelled { .. } | Outcome::Skipped { .. } => {
                ("outcome", outcome::cut(&outcome::explain(parent.outcome), bytes_max))
            }
        };
        data::quote(
            &format!("{word} of job {} by agent {}", parent.name, parent.agent),
            &body,
        )
    });
    told.collect::<Vec<_>>().join("\n\n")
}

fn files(files: &[FileLine], more: usize) -> String {
    let mut list = String::new();
    for file in files.iter().take(FILES_MAX) {
        let _ = writeln!(list, "{} ({} bytes, {})", file.path, file.size, file.media_type);
    }
    let more = more + files.len().saturating_sub(FILES_MAX);
    if more > 0 {
        let _ = writeln!(list, "and {more} more");
    }
    data::quote("list of files", list.trim_end())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::id::JobId;
    use crate::job::{FailReason, JobError, JobResult};
    use crate::time::Timestamp;

    fn job() -> JobSpec {
        JobSpec {
            name: "join".to_owned(),
            agent: "analyst".to_owned(),
            ad_hoc: None,
            description: "Compare both.".to_owned(),
            context: None,
            queue: "default".to_owned(),
            priority: 0,
            start_at: None,
            parent: None,
            depth: 0,
            call: None,
            key: None,
            limits: crate::budget::JobLimits::default(),
        }
    }

    fn found(text: &str) -> Outcome {
        Outcome::Succeeded {
            result: JobResult {
                text: text.to_owned(),
                ..JobResult::default()
            },
        }
    }

    fn brief<'a>(job: &'a JobSpec, parents: &'a [Parent<'a>]) -> Brief<'a> {
        Brief {
            job,
            parents,
            files: &[],
            more_files: 0,
        }
    }

    #[test]
    fn d45_the_first_message_holds_each_parents_result_labelled_in_a_fixed_order() {
        let (a, b) = (found("A-7f3"), found("B-91c"));
        let parents = [("a", &a), ("b", &b)].map(|(name, outcome)| Parent {
            name,
            agent: "researcher",
            outcome,
        });
        let text = first_message(&brief(&job(), &parents));
        let places = [
            "job a by agent researcher",
            "A-7f3",
            "job b by agent researcher",
            "B-91c",
        ]
        .map(|part| text.find(part));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
        assert!(
            text.starts_with("Compare both.\n\n# Results of the jobs before this one\n<data-"),
            "{text}"
        );
    }

    #[test]
    fn s08_a_job_alone_is_told_its_description_and_nothing_else() {
        assert_eq!(first_message(&brief(&job(), &[])), "Compare both.");
    }

    #[test]
    fn s18_context_and_files_are_marked_as_data() {
        let job = JobSpec {
            context: Some(json!({"year": 2026})),
            ..job()
        };
        let files = [FileLine {
            path: "sources/a.md".to_owned(),
            size: 12,
            media_type: "text/markdown".to_owned(),
        }];
        let text = first_message(&Brief {
            files: &files,
            more_files: 3,
            ..brief(&job, &[])
        });
        assert!(
            text.contains("# Context\n<data-") && text.contains("\"year\": 2026"),
            "{text}"
        );
        assert!(
            text.contains("\nsources/a.md (12 bytes, text/markdown)\nand 3 more\n</data-"),
            "{text}"
        );
    }

    #[test]
    fn s22_outcomes_other_than_success_are_told_with_their_reason() {
        let failed = Outcome::Failed {
            error: JobError {
                partial: Some("half".to_owned()),
                ..JobError::fatal(FailReason::Timeout, "timeout", "it ran for 5 s")
            },
        };
        let skipped = Outcome::Skipped {
            cause: JobId::new(Timestamp(0), 0),
        };
        let cancelled = Outcome::Cancelled {
            by: "command line".to_owned(),
            reason: "no longer needed".to_owned(),
        };
        let outcomes = [failed, skipped, cancelled];
        let parents: Vec<Parent<'_>> = outcomes
            .iter()
            .map(|outcome| Parent {
                name: "a",
                agent: "x",
                outcome,
            })
            .collect();
        let text = first_message(&brief(&job(), &parents));
        for part in [
            "failed (timeout, timeout): it ran for 5 s\nwhat it had written until then: half",
            "skipped, because job_",
            "cancelled by command line: no longer needed",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn s25_ten_thousand_long_outcomes_stay_within_a_bound() {
        let long = found(&"x".repeat(100_000));
        let parent = Parent {
            name: "a",
            agent: "b",
            outcome: &long,
        };
        let one = first_message(&brief(&job(), &[parent]));
        assert!(
            one.contains("[cut here: the first 65536 of 100000 bytes are shown]"),
            "{}",
            one.len()
        );
        let many = first_message(&brief(&job(), &vec![parent; 10_000]));
        assert!(many.len() < 10_000 * 400, "{}", many.len());
    }

    #[test]
    fn s28_a_schema_is_part_of_the_system_prompt() {
        let agent = AgentSpec {
            prompt: "Count.\n".to_owned(),
            response_format: Some(json!({"type": "object"})),
            ..AgentSpec::default()
        };
        let text = system(&agent);
        assert!(text.starts_with("Count.\n\n# How you work here\n"), "{text}");
        assert!(text.ends_with("```json\n{\n  \"type\": \"object\"\n}\n```"), "{text}");
        assert!(text.contains(data::RULE));
    }
}
