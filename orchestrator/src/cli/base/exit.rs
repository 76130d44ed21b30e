//! How a command ends.

use legwork_shared::fault::{Code, Fault};
use legwork_shared::job::JobState;
use legwork_shared::run::RunState;
use legwork_shared::store::StoreError;

/// The exit codes, for `--help`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    it was done; for commands that wait: the run succeeded
  1    the run or job failed or was skipped
  2    the input, the configuration or the store does not allow it: nothing was started
  3    the run or job was cancelled
  4    Legwork itself met something unexpected
  130  interrupted; `legwork resume` goes on

Data goes to stdout, everything else to stderr. `--json` makes both JSON.";

/// The exit codes. Part of the interface: scripts rely on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It was done.
    Success,
    /// The run or job failed.
    Failed,
    /// The input or the environment does not allow it.
    Refused,
    /// The run or job was cancelled.
    Cancelled,
    /// Something unexpected.
    Internal,
    /// A person stopped it; it can go on.
    Interrupted,
}

impl Exit {
    /// The number for the system.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Refused => 2,
            Self::Cancelled => 3,
            Self::Internal => 4,
            // 128 and the number of the signal, as shells have it.
            Self::Interrupted => 130,
        }
    }

    /// How a command that waited for a run ends.
    #[must_use]
    pub fn of_run(state: RunState) -> Self {
        match state {
            RunState::Succeeded => Self::Success,
            RunState::Failed => Self::Failed,
            RunState::Cancelled => Self::Cancelled,
            RunState::Active => Self::Interrupted,
        }
    }

    /// How a command that waited for a job ends.
    #[must_use]
    pub fn of_job(state: JobState) -> Self {
        match state {
            JobState::Succeeded => Self::Success,
            JobState::Failed | JobState::Skipped => Self::Failed,
            JobState::Cancelled => Self::Cancelled,
            JobState::Blocked | JobState::Scheduled | JobState::Queued | JobState::Running => Self::Interrupted,
        }
    }

    /// How a command that met `fault` ends.
    #[must_use]
    pub fn of_fault(fault: &Fault) -> Self {
        if fault.code == Code::Internal {
            Self::Internal
        } else {
            Self::Refused
        }
    }
}

/// Why a command stops before its end.
#[derive(Debug)]
pub enum Stop {
    /// Something is wrong, and the person is told.
    Fault(Fault),
    /// Nobody reads stdout any more, as in `legwork list | head -1`: that is no error.
    ReaderGone,
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Fault(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d44_each_way_to_end_has_its_exit_code() {
        let runs = [
            RunState::Succeeded,
            RunState::Failed,
            RunState::Cancelled,
            RunState::Active,
        ];
        assert_eq!(runs.map(|state| Exit::of_run(state).code()), [0, 1, 3, 130]);
        let jobs = JobState::ALL.map(|state| Exit::of_job(state).code());
        assert_eq!(jobs, [130, 130, 130, 130, 0, 1, 3, 1]);
        for code in Code::ALL {
            let exit = Exit::of_fault(&Fault::new(*code, "m", "h"));
            assert_eq!(exit.code(), if *code == Code::Internal { 4 } else { 2 }, "{code}");
        }
    }
}
