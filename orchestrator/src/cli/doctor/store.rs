//! The store: whether it opens, whether it is whole, and who works on it.

use std::path::Path;

use legwork_shared::fault::Fault;
use legwork_shared::job::JobState;
use legwork_shared::store::sqlite::SqliteStore;
use legwork_shared::store::{JobQuery, Store, StoreError, WorkerRecord};
use legwork_shared::wire::WorkerHealth;

use super::Finding;
use crate::cli::base::{Context, health};
use crate::config::StorePlace;
use crate::output::human;

/// Problems of a damaged file that are told; the first ones say enough.
const PROBLEMS_MAX: u32 = 3;

/// Looks at the store and its workers.
pub async fn look(context: &Context) -> Vec<Finding> {
    let looked = match &context.settings.store {
        StorePlace::File(path) if !path.exists() => {
            return vec![Finding::fine(
                "store",
                format!("{} is made with the first run", path.display()),
            )];
        }
        StorePlace::File(path) => of_file(context, path).await,
        StorePlace::Server(address) => of_server(context, address).await,
    };
    looked.unwrap_or_else(|fault| vec![Finding::fault("store", &fault)])
}

async fn of_file(context: &Context, path: &Path) -> Result<Vec<Finding>, Fault> {
    let store = context.sqlite(path).await?;
    Ok(vec![whole(context, &store).await?, workers(context, &store).await?])
}

async fn of_server(context: &Context, address: &str) -> Result<Vec<Finding>, Fault> {
    let store = context.redis(address).await?;
    let mut findings = super::server::findings(context, &store).await;
    findings.push(workers(context, &store).await?);
    Ok(findings)
}

async fn whole(context: &Context, store: &SqliteStore) -> Result<Finding, StoreError> {
    let path = &context.settings.store;
    let problems = store.problems(PROBLEMS_MAX).await?;
    Ok(match problems.as_slice() {
        [] => Finding::fine("store", format!("{path} opens and is whole")),
        problems => {
            let detail = format!("{path} is damaged: {}", problems.join("; "));
            Finding::problem("store", detail, "restore it from a backup, or choose another --store")
        }
    })
}

async fn workers(context: &Context, store: &dyn Store) -> Result<Finding, StoreError> {
    let workers = store.workers().await?;
    let alive: Vec<&WorkerRecord> = workers
        .iter()
        .filter(|worker| health(context, store, worker) == WorkerHealth::Alive)
        .collect();
    let gone = workers.len() - alive.len();
    let states = vec![JobState::Queued, JobState::Running];
    let waiting = store
        .jobs(&JobQuery {
            states,
            limit: 1,
            ..JobQuery::default()
        })
        .await?;
    let gone_text = if gone == 0 {
        String::new()
    } else {
        format!(", {gone} gone")
    };
    Ok(match alive.as_slice() {
        [] if waiting.items.is_empty() => Finding::fine("workers", format!("none, and no job waits{gone_text}")),
        [] => {
            let detail = format!("jobs wait, and no worker is there{gone_text}");
            Finding::warning(
                "workers",
                detail,
                "start one with `legwork worker`, or go on with `legwork resume`",
            )
        }
        alive => {
            let now = store.now();
            let names = alive
                .iter()
                .map(|worker| format!("{}, started {}", worker.name, human::ago(worker.started_at, now)));
            let names: Vec<String> = names.collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            Finding::fine(
                "workers",
                format!("{} alive{gone_text}: {}", alive.len(), human::some_names(&names, 5)),
            )
        }
    })
}
