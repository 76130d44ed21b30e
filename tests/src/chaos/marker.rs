//! The runner of the chaos: it does its errand and writes down each deed before and after; and the worker around it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use legwork_orchestrator::maintenance::{Maintenance, Retention};
use legwork_shared::budget::{JobLimits, Reservation, Usage};
use legwork_shared::job::{BlockedOn, FailReason, JobError, JobResult, JobSpec, Progress, Verdict};
use legwork_shared::store::Store;
use legwork_shared::store::presence::machine;
use legwork_worker::attempt::{AfterSubmit, Attempt, AttemptError, ChildJob, Report};
use legwork_worker::runner::{Runner, Runners};
use legwork_worker::workspace::{Artifacts, VPath};
use legwork_worker::{Shutdown, Worker};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::errand::{Errand, MARKER, context};
use crate::checker::{Deed, Mark, MarkLog};

/// Does errands and writes down what it does.
pub struct Marker {
    log: MarkLog,
}

impl Marker {
    /// A runner that writes to the file at `marks`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(marks: &Path) -> Result<Self> {
        Ok(Self {
            log: MarkLog::open(marks)?,
        })
    }

    fn note(&self, attempt: &Attempt, deed: Deed) {
        let token = attempt.token();
        let mark = Mark {
            job: token.job,
            attempt: token.attempt,
            pid: std::process::id(),
            deed,
        };
        self.log.note(&mark).expect("the deeds can be written down");
    }

    fn refused(&self, attempt: &Attempt, error: AttemptError) -> Verdict {
        if error == AttemptError::Fenced {
            self.note(attempt, Deed::Refused);
        }
        error.into_verdict()
    }

    async fn do_errand(&self, attempt: &Attempt, errand: &Errand) -> Result<Verdict, AttemptError> {
        let job = attempt.job();
        if errand.children > 0 && job.journal_len == 0 {
            return self.hand_out(attempt, errand.children).await;
        }
        if errand.fails > job.failures {
            self.note(attempt, Deed::Fails);
            return Ok(Verdict::Failed(JobError::retryable("errand", "it was told to fail")));
        }
        if errand.tokens > 0 {
            self.spend(attempt, errand).await?;
        }
        if errand.writes
            && let Err(error) = self.write(attempt).await
        {
            return Ok(Verdict::Failed(JobError::retryable("workspace", error.to_string())));
        }
        let token = attempt.token();
        let text = format!(
            "{} by attempt {} in {}",
            job.spec.name,
            token.attempt,
            std::process::id()
        );
        self.note(attempt, Deed::Answers { text: text.clone() });
        Ok(Verdict::Succeeded(JobResult {
            text,
            ..JobResult::default()
        }))
    }

    async fn hand_out(&self, attempt: &Attempt, count: usize) -> Result<Verdict, AttemptError> {
        let by = attempt.token().attempt;
        let children = (0..count).map(|number| child(attempt, number, by)).collect();
        let report = Report {
            entries: vec![json!({ "handed out": count })],
            ..Report::default()
        };
        self.note(attempt, Deed::HandsOut { count });
        let children = attempt.submit_children(children, report, AfterSubmit::Wait).await?;
        let jobs = children.into_iter().map(|child| child.id).collect();
        self.note(attempt, Deed::HandedOut { jobs });
        Ok(Verdict::Waiting(BlockedOn::Children))
    }

    /// As an agent does: sets aside what a call may cost, makes it, and settles.
    async fn spend(&self, attempt: &Attempt, errand: &Errand) -> Result<(), AttemptError> {
        let tokens = errand.tokens;
        let reserve = Reservation {
            input_tokens: tokens,
            ..Reservation::default()
        };
        self.note(attempt, Deed::Spends { tokens });
        let report = Report {
            reserve: Some(reserve),
            ..Report::default()
        };
        attempt.checkpoint(report).await?;
        tokio::time::sleep(Duration::from_millis(errand.ms / 2)).await;
        let spent = Usage {
            input_tokens: tokens,
            model_calls: 1,
            ..Usage::default()
        };
        let progress = Progress {
            step: attempt.job().progress.step + 1,
            ..Progress::default()
        };
        let report = Report {
            entries: vec![json!({ "spent": tokens })],
            spent,
            progress: Some(progress),
            ..Report::default()
        };
        attempt.checkpoint(report).await?;
        self.note(attempt, Deed::Spent { tokens });
        Ok(())
    }

    /// A file that is published with the answer.
    async fn write(&self, attempt: &Attempt) -> Result<()> {
        let token = attempt.token();
        let path = VPath::parse(&format!("out/{}.md", token.job))?;
        let bytes = format!("By attempt {} in {}.", token.attempt, std::process::id());
        let file = attempt.workspace().write(&path, bytes.into_bytes()).await?;
        self.note(
            attempt,
            Deed::Writes {
                path: file.path.as_str().to_owned(),
                sha256: file.sha256.to_string(),
            },
        );
        Ok(())
    }
}

#[async_trait]
impl Runner for Marker {
    async fn run(&self, attempt: &Attempt) -> Verdict {
        self.note(attempt, Deed::Started);
        let errand = attempt.job().spec.context.clone().unwrap_or_default();
        let errand: Errand = match serde_json::from_value(errand) {
            Ok(errand) => errand,
            Err(error) => return Verdict::Failed(JobError::fatal(FailReason::Error, "errand", error.to_string())),
        };
        // Half of the time of one that spends is that of its call.
        let ms = if errand.tokens > 0 { errand.ms / 2 } else { errand.ms };
        tokio::select! {
            () = attempt.cancelled().cancelled_owned() => return Verdict::Cancelled,
            () = tokio::time::sleep(Duration::from_millis(ms)) => {}
        }
        match self.do_errand(attempt, &errand).await {
            Ok(verdict) => verdict,
            Err(error) => self.refused(attempt, error),
        }
    }
}

fn child(attempt: &Attempt, number: usize, by: u32) -> ChildJob {
    let job = attempt.job();
    let errand = Errand {
        ms: 20,
        tokens: 10,
        by: Some(by),
        ..Errand::default()
    };
    let spec = JobSpec {
        name: format!("child-{number}"),
        agent: MARKER.to_owned(),
        description: "Mark it.".to_owned(),
        context: context(&errand),
        call: None,
        key: None,
        limits: JobLimits { ..job.spec.limits },
        ..(*job.spec).clone()
    };
    ChildJob {
        spec,
        needs: Vec::new(),
    }
}

/// A worker of errands with the maintenance of its store, until a signal ends it.
///
/// `folder` holds what workers of one machine share: their deeds, artifacts and signs of life.
///
/// # Errors
/// It cannot start.
pub async fn work(store: Arc<dyn Store>, folder: &Path, lease_ms: u64, slots: usize) -> Result<()> {
    let presence: PathBuf = folder.join("presence");
    let artifacts = Artifacts::open(folder.join("artifacts"))?;
    let runners = Runners::new().with(MARKER, Marker::new(&folder.join("marks.jsonl"))?);
    let worker = Worker::builder(Arc::clone(&store), artifacts)
        .runners(runners)
        .lease_ms(lease_ms)
        .slots(slots)
        .presence(&presence)
        .build();
    let shutdown = Shutdown::new();
    tokio::spawn(shutdown.on_signals()?);
    let ended = CancellationToken::new();
    let maintenance = Maintenance {
        store,
        worker: worker.id(),
        presence: Some(presence),
        machine: machine(),
        retention: Retention::default(),
    };
    let maintenance = tokio::spawn(maintenance.drive(ended.clone()));
    worker.run(shutdown).await?;
    ended.cancel();
    maintenance.await?;
    Ok(())
}
