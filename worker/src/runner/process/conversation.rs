//! The talk between an attempt and its program.

use std::collections::BTreeSet;
use std::io;
use std::pin::Pin;
use std::process::ExitStatus;
use std::time::Duration;

use legwork_shared::budget::Usage;
use legwork_shared::id::UpdateId;
use legwork_shared::job::{FailReason, JobError, Progress, Verdict};
use tokio::process::ChildStdout;
use tokio::time::{Sleep, sleep, timeout};

use super::ProcessLimits;
use super::lines::{LineError, Lines};
use super::outbox::{self, Outbox};
use super::program::Program;
use super::protocol::{Said, Start, Told, broken, entry_of, failed};
use super::tail::Tail;
use crate::attempt::{Attempt, AttemptError, Report};
use crate::workspace::{VPath, WorkspaceError};

/// Progress is written at most this often: a display needs no more, and each write costs the disk one.
const PROGRESS_PAUSE: Duration = Duration::from_millis(500);
/// How long the rest of its output is read after the program has ended. It is in the pipe already, unless something
/// that the program left behind holds the pipe open.
const REST_TIME: Duration = Duration::from_secs(1);
/// How long a note on the progress may be, in characters: a line or two.
const NOTE_CHARS_MAX: usize = 500;

/// One program at work for one attempt.
pub struct Conversation<'a> {
    attempt: &'a Attempt,
    program: Program,
    limits: ProcessLimits,
    told: BTreeSet<UpdateId>,
    /// The newest progress, where it is not written yet.
    progress: Option<Progress>,
}

/// How the talk ended.
enum End {
    /// The program said how its work ended, or broke the protocol.
    Said(Verdict),
    /// It ended without a word.
    Exited(io::Result<ExitStatus>),
}

/// How far the program was brought towards its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Working,
    Told,
    Terminated,
    Exited,
}

/// Where a talk stands.
struct Course {
    stage: Stage,
    /// Whether the program's stdout may have more lines.
    open: bool,
    status: Option<io::Result<ExitStatus>>,
    /// When the stage has lasted long enough.
    due: Pin<Box<Sleep>>,
    /// When progress may be written again.
    pause: Pin<Box<Sleep>>,
}

impl Course {
    fn new() -> Self {
        Self {
            stage: Stage::Working,
            open: true,
            status: None,
            due: Box::pin(sleep(Duration::ZERO)),
            pause: Box::pin(sleep(Duration::ZERO)),
        }
    }

    fn enter(&mut self, stage: Stage, limit: Duration) {
        self.stage = stage;
        self.due.set(sleep(limit));
    }
}

/// What happens next in a talk.
enum Next {
    Line(Vec<u8>),
    Broken(LineError),
    /// The program has ended, and there is nothing more of its words.
    Over,
    Cancelled,
    Overdue,
    Mail,
    Progress,
}

impl<'a> Conversation<'a> {
    /// The talk of `attempt` with `program`.
    pub fn new(attempt: &'a Attempt, program: Program, limits: ProcessLimits) -> Self {
        Self {
            attempt,
            program,
            limits,
            told: BTreeSet::new(),
            progress: None,
        }
    }

    /// Talks until there is a verdict, and leaves nothing of the program behind.
    ///
    /// # Errors
    /// [`AttemptError`] when the attempt cannot go on.
    pub async fn hold(mut self, start: &Start) -> Result<Verdict, AttemptError> {
        let pipes = (
            self.program.stdin.take(),
            self.program.stdout.take(),
            self.program.stderr.take(),
        );
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Ok(Verdict::Failed(broken("its pipes are taken")));
        };
        let (outbox, messages) = outbox::open();
        let tail = Tail::default();
        // Beside the talk, so that neither side can block the other with a full pipe.
        let beside = async {
            tokio::join!(outbox::write(stdin, messages), tail.follow(stderr));
        };
        tokio::pin!(beside);
        let mut open = true;
        let end = {
            let talk = self.talk(start, Lines::new(stdout), outbox);
            tokio::pin!(talk);
            loop {
                tokio::select! {
                    end = &mut talk => break end,
                    () = &mut beside, if open => open = false,
                }
            }
        };
        if let Ok(End::Said(Verdict::Succeeded(_) | Verdict::Failed(_))) = end {
            // It has said all it had to say, and may tidy up.
            let _ = timeout(self.limits.leave_after, self.program.wait()).await;
        }
        self.program.kill().await;
        if open {
            let _ = timeout(REST_TIME, beside).await;
        }
        match end? {
            End::Said(verdict) => Ok(verdict),
            End::Exited(status) => Ok(self.without_result(&status, &tail)),
        }
    }

    async fn talk(
        &mut self,
        start: &Start,
        mut lines: Lines<ChildStdout>,
        outbox: Outbox,
    ) -> Result<End, AttemptError> {
        let mut course = Course::new();
        if let Err(error) = outbox.post(start) {
            return Ok(End::Said(Verdict::Failed(error)));
        }
        self.attempt.control().look_for_mail();
        loop {
            let verdict = match self.next(&mut lines, &mut course).await {
                Next::Line(line) => self.heard(&line, &outbox).await?,
                Next::Broken(error) => Some(Verdict::Failed(broken(&error.to_string()))),
                Next::Over => {
                    let unseen = || Err(io::Error::other("its end was not seen"));
                    return Ok(End::Exited(course.status.unwrap_or_else(unseen)));
                }
                Next::Cancelled => {
                    course.enter(Stage::Told, self.limits.terminate_after);
                    outbox.post(&Told::Cancel).err().map(Verdict::Failed)
                }
                Next::Overdue => {
                    self.escalate(&mut course).await;
                    None
                }
                Next::Mail => self.forward_mail(&outbox).await?,
                Next::Progress => {
                    self.report(Report::default()).await?;
                    course.pause.set(sleep(PROGRESS_PAUSE));
                    None
                }
            };
            if let Some(verdict) = verdict {
                return Ok(End::Said(verdict));
            }
        }
    }

    async fn next(&mut self, lines: &mut Lines<ChildStdout>, course: &mut Course) -> Next {
        let cancelled = self.attempt.cancelled();
        loop {
            tokio::select! {
                biased;
                () = cancelled.cancelled(), if course.stage == Stage::Working => return Next::Cancelled,
                () = &mut course.due, if course.stage != Stage::Working => {
                    return if course.stage == Stage::Exited { Next::Over } else { Next::Overdue };
                }
                line = lines.next(), if course.open => match line {
                    Ok(Some(line)) => return Next::Line(line),
                    Ok(None) => course.open = false,
                    Err(error) => return Next::Broken(error),
                },
                ended = self.program.wait(), if course.stage != Stage::Exited => {
                    course.status = Some(ended);
                    course.enter(Stage::Exited, REST_TIME);
                }
                () = self.attempt.mailed(), if course.stage == Stage::Working => return Next::Mail,
                () = &mut course.pause, if self.progress.is_some() => return Next::Progress,
            }
            if course.stage == Stage::Exited && !course.open {
                return Next::Over;
            }
        }
    }

    /// The next step against a program that did not end when it was told to.
    async fn escalate(&mut self, course: &mut Course) {
        if course.stage == Stage::Told {
            self.program.terminate();
            course.enter(Stage::Terminated, self.limits.kill_after);
        } else {
            // Its end is seen by the wait, which this leaves nothing else to wait for.
            self.program.kill().await;
            course.enter(Stage::Terminated, REST_TIME);
        }
    }

    /// Heeds a line; a verdict ends the talk.
    async fn heard(&mut self, line: &[u8], outbox: &Outbox) -> Result<Option<Verdict>, AttemptError> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let said = match Said::parse(line) {
            Ok(said) => said,
            Err(error) => return Ok(Some(Verdict::Failed(error))),
        };
        match said {
            Said::Progress { note, step } => {
                let mut progress = self.progress.take().unwrap_or_else(|| self.attempt.job().progress);
                progress.step = step.unwrap_or(progress.step);
                progress.note = note.map(|note| note.chars().take(NOTE_CHARS_MAX).collect());
                self.progress = Some(progress);
                Ok(None)
            }
            Said::Journal { data } => {
                let entries = vec![entry_of(&data)];
                self.report(Report {
                    entries,
                    ..Report::default()
                })
                .await?;
                Ok(None)
            }
            Said::Usage(spent) => self.spend(spent).await,
            Said::File { path, content } => Ok(self.keep(&path, content).await.err().map(Verdict::Failed)),
            Said::Read { path } => {
                let content = self.read(&path).await;
                let answer = content.and_then(|content| outbox.post(&Told::Content { path, content }));
                Ok(answer.err().map(Verdict::Failed))
            }
            Said::Result(result) => Ok(Some(Verdict::Succeeded(result))),
            Said::Error {
                code,
                message,
                retryable,
                retry_after_ms,
                partial,
            } => Ok(Some(failed(code, &message, retryable, retry_after_ms, partial))),
        }
    }

    /// Writes a report, and the progress with it.
    async fn report(&mut self, report: Report) -> Result<(), AttemptError> {
        let progress = self.progress.take();
        self.attempt.checkpoint(Report { progress, ..report }).await.map(|_| ())
    }

    /// Charges what was spent. It is spent, so it is charged also where it is too much; but then it is the last.
    async fn spend(&mut self, spent: Usage) -> Result<Option<Verdict>, AttemptError> {
        self.report(Report {
            spent,
            ..Report::default()
        })
        .await?;
        match self.attempt.within_budget().await {
            Ok(()) => Ok(None),
            Err(AttemptError::Budget { message }) => Ok(Some(AttemptError::Budget { message }.into_verdict())),
            Err(error) => Err(error),
        }
    }

    async fn keep(&self, path: &str, content: String) -> Result<(), JobError> {
        let path = VPath::parse(path).map_err(|error| broken(&error.to_string()))?;
        let written = self.attempt.workspace().write(&path, content.into_bytes()).await;
        written.map(|_| ()).map_err(|error| of_workspace(&error))
    }

    async fn read(&self, path: &str) -> Result<Option<String>, JobError> {
        let path = VPath::parse(path).map_err(|error| broken(&error.to_string()))?;
        let bytes = self.attempt.workspace().read(&path).await;
        let bytes = bytes.map_err(|error| of_workspace(&error))?;
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    async fn forward_mail(&mut self, outbox: &Outbox) -> Result<Option<Verdict>, AttemptError> {
        let mut applied = Vec::new();
        for mail in self.attempt.mail().await? {
            if self.told.insert(mail.id) {
                if let Err(error) = outbox.post(&Told::update(&mail)) {
                    return Ok(Some(Verdict::Failed(error)));
                }
                applied.push(mail.id);
            }
        }
        if !applied.is_empty() {
            self.report(Report {
                applied,
                ..Report::default()
            })
            .await?;
        }
        Ok(None)
    }

    fn without_result(&self, status: &io::Result<ExitStatus>, tail: &Tail) -> Verdict {
        if self.attempt.cancelled().is_cancelled() {
            return Verdict::Cancelled;
        }
        let how = match status {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let words = tail.last_words();
        let words = if words.is_empty() {
            "it said nothing on stderr".to_owned()
        } else {
            format!("its last words on stderr: {words}")
        };
        let message = format!("the program ended without a result ({how}); {words}");
        Verdict::Failed(JobError::retryable("no_result", message))
    }
}

fn of_workspace(error: &WorkspaceError) -> JobError {
    match error {
        WorkspaceError::DiskFull | WorkspaceError::Unavailable(_) => {
            JobError::retryable("workspace", error.to_string())
        }
        WorkspaceError::ReadOnly { .. }
        | WorkspaceError::PathConflict { .. }
        | WorkspaceError::TooLarge { .. }
        | WorkspaceError::Full { .. }
        | WorkspaceError::Corrupt { .. } => JobError::fatal(FailReason::Limit, "workspace", error.to_string()),
    }
}
