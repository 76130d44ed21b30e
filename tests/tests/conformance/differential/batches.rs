//! The batches of a random history.

use std::sync::Arc;

use legwork_shared::batch::{Batch, FileRecord, JournalEntry, KeyClaim};
use legwork_shared::budget::{Counter, Reservation, Usage};
use legwork_shared::dag::{self, Condition, Edge, EdgeKind, Standing};
use legwork_shared::id::{JobId, RunId, UpdateId};
use legwork_shared::job::{
    self, BlockedOn, Checkpoint, Command, FailReason, Job, JobError, JobResult, JobSpec, LeaseToken, Mail, Progress,
    Todo, TodoStatus, UpdateMode, Verdict,
};
use legwork_shared::run::Run;
use legwork_shared::store::Claimed;
use legwork_tests::make;
use serde_json::json;

use super::history::{History, has_ended};

const CONDITIONS: [Condition; 3] = [Condition::Success, Condition::Failure, Condition::Finished];

impl History {
    fn small(&mut self, end: u64) -> u32 {
        u32::try_from(self.chance.below(end)).unwrap()
    }

    fn job_id(&mut self) -> JobId {
        let number = self.next_id();
        JobId::nth(self.pair.now(), number, u128::from(self.chance.number()) << 64)
    }

    fn spec(&mut self, name: &str) -> JobSpec {
        let mut spec = make::spec(name);
        if self.chance.once_in(4) {
            "other".clone_into(&mut spec.queue);
        }
        spec.priority = i32::try_from(self.chance.below(3)).unwrap() - 1;
        if self.chance.once_in(6) {
            spec.start_at = Some(self.pair.now() + self.chance.below(5_000));
        }
        if self.chance.once_in(3) {
            spec.limits.queue_timeout_ms = Some(1 << self.chance.below(18));
        }
        spec.limits.attempts = Some(1 + self.small(3));
        spec.limits.losses = Some(1 + self.small(3));
        spec
    }

    /// A new run, the ids of its jobs, and the batch that submits it.
    pub fn submission(&mut self) -> (Run, Vec<JobId>, Batch) {
        let now = self.pair.now();
        let number = self.next_id();
        let mut run = make::run(RunId::nth(now, number, u128::from(number) << 64), now);
        run.limits.retries = self.chance.once_in(2).then_some(2);
        run.limits.tokens = self.chance.once_in(2).then_some(300);
        let (mut jobs, mut edges): (Vec<Job>, Vec<Edge>) = (Vec::new(), Vec::new());
        for n in 0..=self.chance.below(5) {
            let spec = self.spec(&format!("job {n}"));
            let id = self.job_id();
            let before = edges.len();
            for parent in &jobs {
                if self.chance.once_in(3) {
                    let condition = *self.chance.pick(&CONDITIONS).unwrap();
                    let (parent, child, kind) = (parent.id, id, EdgeKind::Dependency);
                    edges.push(Edge {
                        parent,
                        child,
                        condition,
                        kind,
                    });
                }
            }
            let is_free = edges.len() == before && spec.start_at.is_none();
            let make = if is_free { make::queued } else { make::blocked };
            jobs.push(make(id, &run, spec, now));
        }
        run.results = jobs.last().map(|job| job.id).into_iter().collect();
        let ids = jobs.iter().map(|job| job.id).collect();
        let mut batch = make::submission(&run, &jobs, &edges, now);
        if self.chance.once_in(4) {
            let fingerprint = format!("f{}", self.chance.below(2));
            let key = format!("k{}", self.chance.below(6));
            let (tenant, job) = (run.tenant.clone(), None);
            batch.key = Some(KeyClaim {
                tenant,
                key,
                fingerprint,
                run: run.id,
                job,
            });
        }
        (run, ids, batch)
    }

    /// What a worker does next with a job, and what comes with it.
    pub async fn attempt(&mut self, claimed: &Claimed) -> (Command, Batch) {
        let mut batch = Batch::at(self.pair.now());
        let lost = LeaseToken {
            job: claimed.job.id,
            attempt: claimed.job.attempt,
            secret: 0,
        };
        let token = claimed.job.phase.lease().map_or(lost, |lease| lease.token);
        let command = match self.chance.below(10) {
            0..=3 => Command::Checkpoint {
                token,
                report: self.report(claimed, &mut batch).await,
            },
            _ => Command::Settle {
                token,
                verdict: self.verdict(),
            },
        };
        (command, batch)
    }

    async fn report(&mut self, claimed: &Claimed, batch: &mut Batch) -> Checkpoint {
        let now = self.pair.now();
        let job = &claimed.job;
        let entries = self.small(3);
        for n in 0..entries {
            batch.journal.push(JournalEntry {
                job: job.id,
                seq: job.journal_len + n,
                attempt: job.attempt,
                at: now,
                entry: json!({"reply": self.chance.number(), "text": "\0"}),
            });
        }
        let mail = self.pair.reference.mail(job.id).await.unwrap();
        let applied: Vec<UpdateId> = mail.iter().take(1).map(|mail| mail.id).collect();
        batch.mail_applied.extend(applied.iter().map(|id| (job.id, *id)));
        if self.chance.once_in(3) {
            batch.files.push(FileRecord {
                run: job.run,
                path: format!("out/{}.md", self.chance.below(3)),
                sha256: "c".repeat(64),
                size: self.chance.number(),
                media_type: "text/markdown".to_owned(),
                by: job.id,
                at: now,
            });
        }
        let reserve = Reservation {
            input_tokens: self.chance.below(60),
            output_tokens: self.chance.below(60),
            cost_micro_usd: self.chance.below(9),
        };
        let todo = Todo {
            content: "look".to_owned(),
            status: TodoStatus::InProgress,
            active_form: None,
        };
        Checkpoint {
            entries,
            spent: Usage {
                input_tokens: self.chance.below(40),
                output_tokens: self.chance.below(40),
                cost_micro_usd: self.chance.below(5),
                model_calls: 1,
                tool_calls: self.chance.below(2),
            },
            reserve: self.chance.once_in(2).then_some(reserve),
            applied,
            progress: Progress {
                step: job.progress.step + self.small(2),
                last_tool: Some("ls".to_owned()),
                note: None,
            },
            todos: self.chance.once_in(4).then(|| vec![todo]),
            lease_until: now + (1 << self.chance.below(16)),
        }
    }

    fn verdict(&mut self) -> Verdict {
        match self.chance.below(8) {
            0..=1 => Verdict::Succeeded(JobResult {
                data: Some(json!({"n": self.chance.number()})),
                ..make::result("done")
            }),
            2 => Verdict::Answered(make::result("answered")),
            3 => Verdict::Failed(JobError::fatal(FailReason::Schema, "schema", "it does not fit")),
            4 => Verdict::Failed(JobError::retryable("rate_limited", "slow down")),
            5 => Verdict::Waiting(BlockedOn::Children),
            6 => Verdict::Yielded {
                due: self.pair.now() + self.chance.below(2_000),
            },
            _ => Verdict::Cancelled,
        }
    }

    /// The dependents that can never run are skipped, one in a commit.
    pub async fn cascade(&mut self, cause: JobId) {
        let now = self.pair.now();
        let store = self.pair.reference.clone();
        let state = store.job(cause).await.unwrap().map(|job| job.state());
        for edge in store.dependents(cause).await.unwrap() {
            let broken = state.is_some_and(|state| dag::standing(edge.condition, state) == Standing::Broken);
            let child = store.job(edge.child).await.unwrap().unwrap();
            if broken && job::apply(&child, &Command::Skip { cause }, now).is_ok() {
                self.command("maintain", &child, &Command::Skip { cause }, Batch::at(now))
                    .await;
            }
        }
        let mut done = Batch::at(now);
        done.cascaded.push(cause);
        self.commit("maintain", done).await.unwrap();
    }

    /// A person cancels, retries or sends an update.
    pub async fn steer(&mut self) {
        let Some(job) = self.job().await else {
            return;
        };
        let now = self.pair.now();
        let mut batch = Batch::at(now);
        let by = "a person".to_owned();
        let command = match self.chance.below(3) {
            0 => Command::Cancel {
                by,
                reason: "no need".to_owned(),
            },
            1 => {
                let unmet = self.reopen(&job, &mut batch).await;
                Command::Retry { by, unmet }
            }
            _ => {
                let id = UpdateId::nth(now, self.next_id(), 0);
                let mode = UpdateMode::Enqueue;
                batch.mail.push(Mail {
                    id,
                    job: job.id,
                    text: "and be quick".to_owned(),
                    data: None,
                    mode,
                    at: now,
                });
                Command::Update { id, mode }
            }
        };
        self.command("steer", &job, &command, batch).await;
    }

    /// Waits again for the parents of a job that have not ended as needed; says whether there are any.
    async fn reopen(&mut self, job: &Job, batch: &mut Batch) -> bool {
        let store = self.pair.reference.clone();
        for edge in store.dependencies(job.id).await.unwrap() {
            let parent = store.job(edge.parent).await.unwrap().unwrap();
            if dag::standing(edge.condition, parent.state()) != Standing::Met {
                batch.reopen.push(edge);
            }
        }
        !batch.reopen.is_empty()
    }

    /// A job is added that depends on others, or that another job waits for.
    pub async fn add(&mut self) {
        let Some(other) = self.job().await else {
            return;
        };
        let now = self.pair.now();
        let run = self.pair.reference.run(other.run).await.unwrap().unwrap().run;
        let number = self.next_id();
        let mut spec = self.spec(&format!("added {number}"));
        let id = self.job_id();
        let mut batch = Batch::at(now);
        let is_child = self.chance.once_in(2) && !has_ended(&other);
        let (parent, child, kind, condition) = if is_child {
            spec.parent = Some(other.id);
            (id, other.id, EdgeKind::Await, Condition::Finished)
        } else {
            let condition = *self.chance.pick(&CONDITIONS).unwrap();
            (other.id, id, EdgeKind::Dependency, condition)
        };
        let edge = Edge {
            parent,
            child,
            condition,
            kind,
        };
        let unmet = is_child || dag::standing(condition, other.state()) != Standing::Met;
        let make = if is_child { make::queued } else { make::blocked };
        let job = make(id, &run, spec, now);
        make::add_jobs(&mut batch, &run, std::slice::from_ref(&job), &[]);
        batch.edges.push((edge, unmet));
        let stale = u64::from(self.chance.once_in(6));
        batch.touch.push((other.id, other.version - stale.min(other.version)));
        if self.commit("add", batch).await.is_ok() {
            self.jobs.push(job.id);
        }
    }

    /// Something odd: a new title, charges, edges that are counted down too early, twice, or that are not there.
    pub async fn disturb(&mut self) {
        let now = self.pair.now();
        let mut batch = Batch::at(now);
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        let Some(id) = self.chance.pick(&runs).copied() else {
            return;
        };
        let run = Arc::unwrap_or_clone(self.pair.reference.run(id).await.unwrap().unwrap().run);
        if self.chance.once_in(2) {
            batch.runs.push(Run {
                version: run.version + self.chance.below(4).min(1),
                title: format!("title {}", self.chance.number()),
                ..run.clone()
            });
        }
        let counter = *self.chance.pick(&Counter::ALL[1..]).unwrap();
        let mut row = make::charge(&run, counter, i64::from(self.small(90)) - 40);
        row.bound = self.chance.once_in(2).then_some(100);
        row.charge.must_fit = self.chance.once_in(2);
        batch.charges.push(row);
        let edges = self.pair.reference.edges(id).await.unwrap();
        for _ in 0..self.chance.below(3) {
            if let Some(edge) = self.chance.pick(&edges) {
                batch.countdown.push(*edge);
                if self.chance.once_in(3) {
                    let (parent, child) = (edge.child, edge.parent);
                    batch.countdown.push(Edge { parent, child, ..*edge });
                }
            }
        }
        // Refused or not, both must say the same.
        let _ = self.commit("disturb", batch).await;
    }
}
