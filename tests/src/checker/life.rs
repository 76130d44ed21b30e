//! The life of one job as the log tells it.

use legwork_shared::job::{BlockedOn, EventKind, JobState};

/// What the log tells of a job.
#[derive(Debug, Clone, Default)]
pub struct Life {
    /// Its first line in the log.
    pub first: Option<u64>,
    /// Its attempts, in order.
    pub spans: Vec<Span>,
    /// Its ends, one to each generation.
    pub ends: Vec<(u64, JobState)>,
    /// How often a wait of it ended.
    pub releases: usize,
    /// Failed attempts of this generation.
    pub failures: u32,
    stand: Stand,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Its number.
    pub attempt: u32,
    /// When it began, as a place in the log.
    pub began: u64,
    /// When it was over; the end of the log if it never was.
    pub ended: u64,
    /// How it was over.
    pub close: Close,
    /// What the job had spent at each of its steps.
    pub steps: Vec<u64>,
}

/// How an attempt was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// It is not.
    Open,
    /// It lost its lease.
    Lost,
    /// It failed, and the job was tried again.
    Failed,
    /// It went to sleep.
    Slept,
    /// It gave the job back.
    GivenBack,
    /// It ended the job.
    Ended,
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stand {
    #[default]
    Unknown,
    Waits,
    Scheduled,
    Queued,
    Runs,
    /// Its attempt is over, and the next line says what comes of it.
    Between,
    Ended,
    /// A person opened it again, and the next line says whether it waits.
    Reopened,
}

/// Why a line cannot follow on those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// The job had ended.
    SecondEnd,
    /// It did not wait any more.
    SecondRelease,
    /// Anything else.
    Impossible,
}

impl Life {
    /// Reads the next line about the job.
    ///
    /// # Errors
    /// [`Wrong`], and why.
    pub fn hear(&mut self, seq: u64, kind: &EventKind) -> Result<(), Wrong> {
        self.first.get_or_insert(seq);
        match kind {
            EventKind::Submitted | EventKind::Paused { .. } | EventKind::Resumed { .. } => Err(Wrong::Impossible),
            EventKind::Blocked { on } => self.waits(seq, *on),
            EventKind::Scheduled { .. } => self.is_let_go(seq, Stand::Scheduled),
            EventKind::Queued => self.is_let_go(seq, Stand::Queued),
            EventKind::Started { attempt, .. } => self.starts(seq, *attempt),
            EventKind::AttemptFailed { attempt, .. } => {
                self.failures += 1;
                self.breaks_off(seq, *attempt, Close::Failed)
            }
            EventKind::AttemptLost { attempt, .. } => self.breaks_off(seq, *attempt, Close::Lost),
            EventKind::Stepped { tokens, .. } => match self.running() {
                Some(span) => {
                    span.steps.push(*tokens);
                    Ok(())
                }
                None => Err(Wrong::Impossible),
            },
            EventKind::CancelRequested { .. } | EventKind::UpdateApplied { .. } | EventKind::TodosChanged { .. } => {
                self.running().map(|_| ()).ok_or(Wrong::Impossible)
            }
            EventKind::Held { .. } => match self.stand {
                Stand::Waits => Ok(()),
                _ => Err(Wrong::Impossible),
            },
            EventKind::UpdateSent { .. } | EventKind::UpdatesUnread { .. } => match self.stand {
                Stand::Ended | Stand::Unknown => Err(Wrong::Impossible),
                _ => Ok(()),
            },
            EventKind::Succeeded => self.ends(seq, JobState::Succeeded, &[Stand::Runs]),
            EventKind::Failed { .. } => {
                self.failures += u32::from(self.stand == Stand::Runs);
                self.ends(seq, JobState::Failed, &[Stand::Runs, Stand::Between, Stand::Queued])
            }
            EventKind::Cancelled { .. } => {
                let open = [
                    Stand::Waits,
                    Stand::Scheduled,
                    Stand::Queued,
                    Stand::Runs,
                    Stand::Between,
                ];
                self.ends(seq, JobState::Cancelled, &open)
            }
            EventKind::Skipped { .. } => self.ends(seq, JobState::Skipped, &[Stand::Waits]),
            EventKind::Retried { .. } => {
                let allowed = self.stand == Stand::Ended;
                (self.stand, self.failures) = (Stand::Reopened, 0);
                allowed.then_some(()).ok_or(Wrong::Impossible)
            }
        }
    }

    /// Whether it has ended, and how.
    #[must_use]
    pub fn end(&self) -> Option<JobState> {
        let (_, state) = self.ends.last()?;
        (self.stand == Stand::Ended).then_some(*state)
    }

    /// The attempt that held the job at that place of the log, or went to sleep right before it.
    #[must_use]
    pub fn holder(&self, seq: u64) -> Option<u32> {
        let span = self.spans.iter().rfind(|span| span.began < seq)?;
        (seq <= span.ended || span.close == Close::Slept).then_some(span.attempt)
    }

    fn running(&mut self) -> Option<&mut Span> {
        let runs = self.stand == Stand::Runs;
        self.spans.last_mut().filter(|_| runs)
    }

    fn close(&mut self, seq: u64, close: Close) {
        if let Some(span) = self.running() {
            (span.ended, span.close) = (seq, close);
        }
    }

    fn waits(&mut self, seq: u64, on: BlockedOn) -> Result<(), Wrong> {
        let allowed = match on {
            BlockedOn::Dependencies => matches!(self.stand, Stand::Unknown | Stand::Reopened),
            BlockedOn::Children => self.stand == Stand::Runs,
        };
        if on == BlockedOn::Children {
            self.close(seq, Close::Slept);
        }
        self.stand = Stand::Waits;
        allowed.then_some(()).ok_or(Wrong::Impossible)
    }

    fn is_let_go(&mut self, seq: u64, to: Stand) -> Result<(), Wrong> {
        let wrong = match self.stand {
            Stand::Waits => {
                self.releases += 1;
                None
            }
            Stand::Unknown | Stand::Between | Stand::Reopened => None,
            Stand::Scheduled => (to == Stand::Scheduled).then_some(Wrong::Impossible),
            Stand::Runs => {
                self.close(seq, Close::GivenBack);
                None
            }
            Stand::Queued => Some(Wrong::SecondRelease),
            Stand::Ended => return Err(Wrong::Impossible),
        };
        self.stand = to;
        wrong.map_or(Ok(()), Err)
    }

    fn starts(&mut self, seq: u64, attempt: u32) -> Result<(), Wrong> {
        let next = self.spans.last().map_or(1, |span| span.attempt + 1);
        let allowed = self.stand == Stand::Queued && attempt == next;
        if self.stand == Stand::Ended {
            return Err(Wrong::Impossible);
        }
        self.stand = Stand::Runs;
        self.spans.push(Span {
            attempt,
            began: seq,
            ended: u64::MAX,
            close: Close::Open,
            steps: Vec::new(),
        });
        allowed.then_some(()).ok_or(Wrong::Impossible)
    }

    fn breaks_off(&mut self, seq: u64, attempt: u32, close: Close) -> Result<(), Wrong> {
        let allowed = self.running().is_some_and(|span| span.attempt == attempt);
        self.close(seq, close);
        if allowed {
            self.stand = Stand::Between;
        }
        allowed.then_some(()).ok_or(Wrong::Impossible)
    }

    fn ends(&mut self, seq: u64, state: JobState, from: &[Stand]) -> Result<(), Wrong> {
        if self.stand == Stand::Ended {
            return Err(Wrong::SecondEnd);
        }
        let allowed = from.contains(&self.stand);
        self.close(seq, Close::Ended);
        self.stand = Stand::Ended;
        self.ends.push((seq, state));
        allowed.then_some(()).ok_or(Wrong::Impossible)
    }
}
