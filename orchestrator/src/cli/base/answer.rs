//! Loads final answers, also those that were too long for the record.

use legwork_shared::fault::{Code, Fault};
use legwork_shared::id::RunId;
use legwork_shared::job::{Job, Outcome};
use legwork_shared::run::{RunState, RunView};
use legwork_shared::store::Store;
use legwork_shared::wire::{ResultView, RunResult};
use legwork_worker::workspace::Artifacts;

use super::{Context, find_run_view};

/// What the result jobs of a run found; those that found nothing are left out.
///
/// # Errors
/// [`Code::UnknownId`], or a fault of the store or of an artifact.
pub async fn run_result(context: &Context, store: &dyn Store, run: RunId) -> Result<RunResult, Fault> {
    let view = find_run_view(store, run).await?;
    let mut results = Vec::new();
    for id in &view.run.results {
        if let Some(job) = store.job(*id).await? {
            results.extend(result_of(context, store, &job).await?);
        }
    }
    Ok(RunResult {
        run,
        state: view.state,
        results,
    })
}

/// What a job found, as the result of its run.
///
/// # Errors
/// [`Code::WrongState`] where it has not ended, or a fault of the store or of an artifact.
pub async fn job_result(context: &Context, store: &dyn Store, view: &RunView, job: &Job) -> Result<RunResult, Fault> {
    Ok(RunResult {
        run: view.run.id,
        state: match job.phase.outcome() {
            None => RunState::Active,
            Some(Outcome::Succeeded { .. }) => RunState::Succeeded,
            Some(Outcome::Cancelled { .. }) => RunState::Cancelled,
            Some(Outcome::Failed { .. } | Outcome::Skipped { .. }) => RunState::Failed,
        },
        results: result_of(context, store, job).await?.into_iter().collect(),
    })
}

async fn result_of(context: &Context, store: &dyn Store, job: &Job) -> Result<Option<ResultView>, Fault> {
    let Some(result) = job.phase.outcome().and_then(Outcome::result) else {
        return Ok(None);
    };
    let text = match &result.file {
        Some(path) => whole_text(context, store, job, path).await?,
        None => result.text.clone(),
    };
    Ok(Some(ResultView {
        job: job.id,
        name: job.spec.name.clone(),
        text,
        data: result.data.clone(),
        notes: result.notes.clone(),
    }))
}

/// The answer that is kept as a file of the run's workspace.
async fn whole_text(context: &Context, store: &dyn Store, job: &Job, path: &str) -> Result<String, Fault> {
    let damaged = |problem: String| {
        Fault::new(
            Code::StoreCorrupt,
            problem,
            "restore the store and its folder of artifacts from one backup",
        )
        .at(path.to_owned())
    };
    let record = store.file(job.run, path).await?;
    let record = record.ok_or_else(|| damaged("the file that holds the answer is not on record".into()))?;
    let hash = record
        .sha256
        .parse()
        .map_err(|_| damaged("the name of the answer's artifact is no hash".into()))?;
    let folder = context.artifacts_folder();
    let read = tokio::task::spawn_blocking(move || Artifacts::open(folder)?.get(hash)).await;
    let bytes = read
        .unwrap_or_else(|lost| std::panic::resume_unwind(lost.into_panic()))
        .map_err(|error| damaged(error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
