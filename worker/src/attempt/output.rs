//! How large an answer may be, and where a large one is kept.

use legwork_shared::job::{FailReason, JobError, JobResult, Verdict};

use super::Attempt;
use crate::workspace::{VPath, Workspace as _, WorkspaceError};

/// The largest answer that stands in the job's record, in bytes. Every list of jobs and every dependent loads the
/// record; a report of a hundred pages fits, a data set goes into a file.
pub const INLINE_BYTES_MAX: usize = 256 * 1024;
/// How much of an answer stands in the record beside its file: enough to see what it is.
const BEGINNING_BYTES: usize = 4 * 1024;

impl Attempt {
    /// The verdict with its answer in a form that can be kept: in the record, in a file, or refused for its size.
    ///
    /// # Cancel safety
    /// Safe: a file that was staged and not published is nowhere.
    pub(super) async fn fit(&self, verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Succeeded(result) => self.fit_result(result).await.map(Verdict::Succeeded),
            Verdict::Answered(result) => self.fit_result(result).await.map(Verdict::Answered),
            Verdict::Failed(_) | Verdict::Waiting(_) | Verdict::Yielded { .. } | Verdict::Cancelled => return verdict,
        }
        .unwrap_or_else(Verdict::Failed)
    }

    async fn fit_result(&self, result: JobResult) -> Result<JobResult, JobError> {
        let data = result.data.as_ref().map(ToString::to_string);
        let size = result.text.len() + data.as_ref().map_or(0, String::len);
        let limit = self.job().spec.limits.output_bytes();
        if size as u64 > limit {
            let message =
                format!("the answer has {size} bytes, at most {limit} are accepted; let it write files instead");
            let mut error = JobError::fatal(FailReason::Limit, "payload_too_large", message);
            error.partial = Some(beginning(&result.text));
            return Err(error);
        }
        if size <= INLINE_BYTES_MAX {
            return Ok(result);
        }
        let moved = self.move_to_file(result, data).await;
        moved.map_err(|error| of_workspace(&error))
    }

    async fn move_to_file(&self, result: JobResult, data: Option<String>) -> Result<JobResult, WorkspaceError> {
        let name = &self.job().spec.name;
        let (ending, bytes) = match data {
            Some(data) => ("json", data),
            None => ("md", result.text.clone()),
        };
        let path = VPath::parse(&format!("results/{name}.{ending}"))
            .or_else(|_| VPath::parse(&format!("results/{}.{ending}", self.token.job)))
            .map_err(|error| WorkspaceError::Unavailable(error.to_string()))?;
        let mut notes = result.notes;
        notes.push(format!("the whole answer of {} bytes is in {path}", bytes.len()));
        let text = beginning(if result.text.is_empty() { &bytes } else { &result.text });
        self.workspace.write(&path, bytes.into_bytes()).await?;
        Ok(JobResult {
            text,
            data: None,
            file: Some(path.as_str().to_owned()),
            notes,
        })
    }
}

fn beginning(text: &str) -> String {
    text[..text.floor_char_boundary(BEGINNING_BYTES)].to_owned()
}

/// A workspace that is full stays full; one that cannot be reached may come back.
fn of_workspace(error: &WorkspaceError) -> JobError {
    let message = format!("the answer could not be kept as a file: {error}");
    match error {
        WorkspaceError::DiskFull | WorkspaceError::Unavailable(_) => JobError::retryable("workspace", message),
        WorkspaceError::ReadOnly { .. }
        | WorkspaceError::PathConflict { .. }
        | WorkspaceError::TooLarge { .. }
        | WorkspaceError::Full { .. }
        | WorkspaceError::Corrupt { .. } => JobError::fatal(FailReason::Limit, "workspace", message),
    }
}
