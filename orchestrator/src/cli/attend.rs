//! Works on a run, or waits for it, until it ends; then its report and the last words. For `run`, `resume` and `submit`.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use legwork_shared::fault::{Code, Fault};
use legwork_shared::id::RunId;
use legwork_shared::run::{DEFAULT_TENANT, RunState};
use legwork_shared::store::{RunQuery, Store};
use legwork_shared::submit::DEFAULT_QUEUE;
use legwork_shared::wire::RunStatus;
use legwork_worker::model::{ModelErrorCode, Models};
use tokio_util::sync::CancellationToken;

use super::base::{Context, Exit, Format, Stop, load_status, run_result, say};
use super::engine::{Engine, EngineOptions};
use super::live::{Followed, HiddenControls, Lines, Mirror, Quiet, Screen, Viewer, follow, in_foreground};
use super::result::deliver;
use super::runners;
use crate::output::{dim, human, run_ending};

/// How long steps in flight may go on after the first Ctrl-C: a person waits for the prompt.
const DRAIN: Duration = Duration::from_secs(5);
/// The newest runs among which open ones are looked for; older ones have hardly been left open.
const OTHERS_LOOKED_AT: usize = 50;

/// Works on a run in this process until it ends, then prints the report.
///
/// # Errors
/// [`Stop`] where the engine cannot start or the report cannot be written.
pub async fn work(
    context: &Context,
    store: &Arc<dyn Store>,
    run: RunId,
    models: Option<Arc<Models>>,
    out: Option<&Path>,
) -> Result<Exit, Stop> {
    let mut mirror = Mirror::load(store.clone(), run, 0).await?;
    tell_of_others(context, store.as_ref(), run).await?;
    let options = EngineOptions {
        name: None,
        queues: queues_of(&mirror),
        slots: context.settings.slots,
        drain: DRAIN,
    };
    let engine = Engine::start(context, store, runners::all(models), options)?;
    let _hidden = HiddenControls::new();
    let followed = {
        let mut viewer = viewer(context);
        follow(&mut mirror, viewer.as_mut(), &engine.stopping()).await
    };
    if matches!(followed, Ok(Followed::Stopped)) {
        say(&dim("stopping; press Ctrl-C again to stop at once"));
    }
    engine.finish().await?;
    followed?;
    finish(context, store, run, out).await
}

/// A worker takes whatever is queued: other open runs of the store go on as well, and that may cost something.
async fn tell_of_others(context: &Context, store: &dyn Store, run: RunId) -> Result<(), Stop> {
    let query = RunQuery {
        tenant: Some(DEFAULT_TENANT.to_owned()),
        before: None,
        limit: OTHERS_LOOKED_AT,
    };
    let runs = store.runs(&query).await?.items;
    let open = runs
        .iter()
        .filter(|view| view.state == RunState::Active && view.run.id != run);
    let open: Vec<String> = open.map(|view| view.run.id.to_string()).collect();
    if !open.is_empty() && context.out.format == Format::Text {
        let names: Vec<&str> = open.iter().map(String::as_str).collect();
        say(&dim(&format!(
            "other open runs of the store go on as well: {}",
            human::some_names(&names, 3)
        )));
    }
    Ok(())
}

/// The queues of a run's jobs, and of those that its agents may hand out: nobody else is there to take them.
fn queues_of(mirror: &Mirror) -> Vec<String> {
    let of_jobs = mirror.jobs().map(|job| job.spec.queue.clone());
    let of_agents = mirror
        .view()
        .run
        .agents
        .values()
        .filter_map(|agent| agent.queue.clone());
    let queues: BTreeSet<String> = of_jobs.chain(of_agents).chain([DEFAULT_QUEUE.to_owned()]).collect();
    queues.into_iter().collect()
}

/// Waits for a run that others work on.
///
/// # Errors
/// [`Stop`] where the run cannot be read.
pub async fn wait(context: &Context, store: &Arc<dyn Store>, run: RunId) -> Result<Exit, Stop> {
    let mut mirror = Mirror::load(store.clone(), run, 0).await?;
    {
        let mut viewer = viewer(context);
        follow(&mut mirror, viewer.as_mut(), &CancellationToken::new()).await?;
    }
    conclude(context, &load_status(store.as_ref(), run).await?)
}

/// Prints what a run found and how it ended.
///
/// # Errors
/// [`Stop`] where that cannot be read or written.
pub async fn finish(context: &Context, store: &Arc<dyn Store>, run: RunId, out: Option<&Path>) -> Result<Exit, Stop> {
    let status = load_status(store.as_ref(), run).await?;
    let result = run_result(context, store.as_ref(), run).await?;
    deliver(&result, out, context)?;
    let exit = conclude(context, &status)?;
    if let (Some(path), Exit::Success, Format::Text) = (out, exit, context.out.format) {
        say(&format!("the report is in {}", path.display()));
    }
    Ok(exit)
}

/// The last words, and the exit code.
fn conclude(context: &Context, status: &RunStatus) -> Result<Exit, Stop> {
    if let Some(fault) = refused_key(status) {
        return Err(fault.into());
    }
    if context.out.format == Format::Text {
        say(&run_ending(status));
        if status.run.state == RunState::Active {
            say(&format!("interrupted; go on with `legwork resume {}`", status.run.id));
        }
    }
    Ok(Exit::of_run(status.run.state))
}

/// A refused key is a matter of configuration, not of the run: it is told as such.
fn refused_key(status: &RunStatus) -> Option<Fault> {
    if status.run.state != RunState::Failed {
        return None;
    }
    let refused = ModelErrorCode::Unauthorized.as_str();
    let errors = status.jobs.iter().filter_map(|job| Some((job, job.error.as_ref()?)));
    let (job, error) = errors.into_iter().find(|(_, error)| error.code == refused)?;
    let run = status.run.id;
    let help = format!(
        "set a valid key, then `legwork retry {run}/{}` and `legwork resume {run}`",
        job.name
    );
    Some(Fault::new(Code::NoKey, error.message.clone(), help).at(format!("{run}/{}", job.name)))
}

/// The display that suits stderr.
fn viewer(context: &Context) -> Box<dyn Viewer> {
    match context.out.format {
        Format::Json => Box::new(Quiet),
        Format::Text if in_foreground(io::stderr()) => Box::new(Screen::new()),
        Format::Text => Box::new(Lines),
    }
}
