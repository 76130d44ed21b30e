//! What the jobs are told to do, and in which graphs they come.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use legwork_shared::agent::{AgentSpec, RunnerSpec};
use legwork_shared::budget::{JobLimits, RunLimits};
use legwork_shared::clock::entropy;
use legwork_shared::dag::Condition;
use legwork_shared::plan::{Need, NeedWith, Plan, PlannedJob};
use legwork_shared::store::Store;
use legwork_shared::submit::{Submission, new_run};
use serde::{Deserialize, Serialize};

use crate::chance::Chance;

/// The agent of every job, and the name of its runner.
pub const MARKER: &str = "marker";
/// Leases that a job may lose in a row: these jobs are to end well however often their workers die.
const LOSSES: u32 = 20;
/// The parents of a wide join.
const WIDE: usize = 500;

/// What a job is told to do; its context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errand {
    /// How long it works, in milliseconds.
    pub ms: u64,
    /// The tokens it spends, reserved before.
    #[serde(default)]
    pub tokens: u64,
    /// Attempts that fail before one succeeds.
    #[serde(default)]
    pub fails: u32,
    /// Jobs that it hands out and waits for.
    #[serde(default)]
    pub children: usize,
    /// Whether it writes a file.
    #[serde(default)]
    pub writes: bool,
    /// The attempt that handed it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<u32>,
}

/// The graph of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Two side by side, then one after both, then one.
    Diamond,
    /// One after the other.
    Chain(usize),
    /// That many, and one after all of them.
    Join(usize),
    /// One that hands out that many.
    Delegation(usize),
    /// One that fails for good, one that needs its success, one that needs its failure, and one after all.
    Failure,
}

/// Runs to submit, which a seed decides.
pub struct Workload {
    chance: Chance,
    /// Jobs still to come.
    left: usize,
    wide_left: usize,
    /// How long a job works at most, in milliseconds.
    ms_max: u64,
}

impl Workload {
    /// About `jobs` jobs, of which a fifth are in wide joins, that work for `ms_max` at most.
    #[must_use]
    pub fn new(seed: u64, jobs: usize, ms_max: u64) -> Self {
        Self {
            chance: Chance::of(seed),
            left: jobs,
            wide_left: jobs / 5 / WIDE,
            ms_max,
        }
    }

    /// The next run, and how many jobs it has at first.
    #[must_use]
    pub fn plan(&mut self) -> Option<(Plan, usize)> {
        if self.left == 0 {
            return None;
        }
        let shape = self.shape();
        let mut plan = Plan {
            title: Some(format!("{shape:?}")),
            jobs: self.jobs(shape),
            ..Plan::default()
        };
        if shape == Shape::Diamond && self.chance.once_in(6) {
            plan.limits.tokens = Some(100);
        }
        if shape == Shape::Failure && self.chance.once_in(2) {
            plan.limits.retries = Some(1);
        }
        let count = plan.jobs.len();
        self.left = self.left.saturating_sub(count);
        Some((plan, count))
    }

    fn shape(&mut self) -> Shape {
        if self.wide_left > 0 && self.chance.once_in(40) {
            self.wide_left -= 1;
            return Shape::Join(WIDE);
        }
        match self.chance.below(20) {
            0..8 => Shape::Diamond,
            8..14 => Shape::Chain(2 + self.below(11)),
            14..16 => Shape::Join(3 + self.below(20)),
            16..18 => Shape::Delegation(1 + self.below(5)),
            _ => Shape::Failure,
        }
    }

    fn below(&mut self, end: u64) -> usize {
        usize::try_from(self.chance.below(end)).unwrap_or_default()
    }

    fn jobs(&mut self, shape: Shape) -> Vec<PlannedJob> {
        let name = |number: usize| format!("job-{number}");
        match shape {
            Shape::Diamond => vec![
                self.job("left", &[]),
                self.job("right", &[]),
                self.job("both", &["left", "right"]),
                self.job("last", &["both"]),
            ],
            Shape::Chain(length) => (0..length)
                .map(|number| {
                    let before = number.checked_sub(1).map(name);
                    self.job(&name(number), before.as_deref().as_slice())
                })
                .collect(),
            Shape::Join(parents) => {
                let names: Vec<String> = (0..parents).map(name).collect();
                let mut jobs: Vec<PlannedJob> = names.iter().map(|name| self.job(name, &[])).collect();
                let needs: Vec<&str> = names.iter().map(String::as_str).collect();
                jobs.push(self.job("join", &needs));
                jobs
            }
            Shape::Delegation(children) => {
                let mut lead = self.job("lead", &[]);
                lead.context = context(&Errand {
                    children,
                    ..self.errand()
                });
                vec![lead, self.job("after", &["lead"])]
            }
            Shape::Failure => {
                let mut fails = self.job("fails", &[]);
                fails.context = context(&Errand {
                    fails: 3,
                    ..self.errand()
                });
                let mut handler = self.job("handler", &[]);
                handler.depends_on = vec![with("fails", Condition::Failure)];
                let mut last = self.job("last", &[]);
                last.depends_on = ["needs", "handler"].map(|job| with(job, Condition::Finished)).into();
                vec![fails, self.job("needs", &["fails"]), handler, last]
            }
        }
    }

    fn errand(&mut self) -> Errand {
        // Most are short; one in eight takes long enough to be met by a fault.
        let shortest = if self.chance.once_in(8) { self.ms_max / 2 } else { 0 };
        let longest = if shortest > 0 { self.ms_max } else { self.ms_max / 10 };
        Errand {
            ms: shortest + self.chance.below(longest - shortest + 1),
            tokens: if self.chance.once_in(2) { 30 } else { 0 },
            fails: u32::from(self.chance.once_in(25)),
            writes: self.chance.once_in(3),
            ..Errand::default()
        }
    }

    fn job(&mut self, name: &str, needs: &[&str]) -> PlannedJob {
        PlannedJob {
            id: name.to_owned(),
            agent: Some(MARKER.to_owned()),
            description: format!("Mark {name}."),
            context: context(&self.errand()),
            depends_on: needs.iter().map(|need| Need::Name((*need).to_owned())).collect(),
            limits: JobLimits {
                losses: Some(LOSSES),
                ..JobLimits::default()
            },
            ..PlannedJob::default()
        }
    }
}

/// An errand as a job's context.
pub(super) fn context(errand: &Errand) -> Option<serde_json::Value> {
    serde_json::to_value(errand).ok()
}

fn with(job: &str, on: Condition) -> Need {
    Need::With(NeedWith {
        job: job.to_owned(),
        on,
    })
}

/// A submission of a plan, which may be committed as often as it takes: it has a key of its own.
///
/// # Errors
/// The plan is refused.
pub fn submission(store: &dyn Store, mut plan: Plan) -> Result<Submission> {
    let agent = AgentSpec {
        name: MARKER.to_owned(),
        runner: RunnerSpec::Custom {
            name: MARKER.to_owned(),
        },
        ..AgentSpec::default()
    };
    let agents = BTreeMap::from([(MARKER.to_owned(), Arc::new(agent))]);
    let chance = entropy();
    plan.idempotency_key = Some(format!("{chance:032x}"));
    plan.limits = RunLimits {
        jobs: Some(10_000),
        ..plan.limits
    };
    Ok(new_run(&plan, &agents, "default", store.now(), chance)?)
}
