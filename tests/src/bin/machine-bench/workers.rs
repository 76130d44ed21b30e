//! A load that mostly waits, as that of agents does, worked off by one worker process and by four.

use std::time::Duration;

use anyhow::{Context, Result};
use legwork_shared::job::EventKind;
use legwork_shared::plan::{Plan, PlannedJob};
use legwork_shared::store::redis::{RedisOptions, RedisStore};
use legwork_shared::store::{EventRecord, Store};
use legwork_tests::chaos::{Errand, MARKER, Place, Station, submission, worker_program};
use legwork_tests::redis_server::RedisServer;

use super::Figure;

const JOBS: usize = 640;
/// How long each job waits.
const JOB: Duration = Duration::from_millis(500);
/// How many a worker runs at a time.
const SLOTS: usize = 16;
/// The promise: four workers are at least 3.8 times as fast as one, which is this share of its time.
const SHARE_PERCENT: f64 = 100.0 / 3.8;
/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// What four workers need of the time that one needs.
pub async fn measure() -> Result<Vec<Figure>> {
    let one = drain(1).await?;
    let four = drain(4).await?;
    let what = format!("{JOBS} jobs of {} ms, {SLOTS} at a time", JOB.as_millis());
    Ok(vec![
        Figure::told(format!("one worker drains {what}"), one, "s"),
        Figure::told(format!("four workers drain {what}"), four, "s"),
        Figure::told("four workers, times as fast as one", one / four, "×"),
        Figure::bounded("four workers, of one's time", 100.0 * four / one, SHARE_PERCENT, "%"),
    ])
}

/// The seconds from the first start to the last end, by the server's clock.
async fn drain(workers: usize) -> Result<f64> {
    let server = RedisServer::start()?;
    let folder = tempfile::tempdir()?;
    let store = RedisStore::open(&server.address("lw"), RedisOptions::default()).await?;
    let submission = submission(&store, plan()?)?;
    let run = submission.run;
    store.commit(submission.batch).await?;
    let station = Station {
        program: worker_program()?,
        folder: folder.path().to_owned(),
        lease_ms: 30_000,
        slots: SLOTS,
    };
    let place = |number| Place::new(&station, number, server.address("lw"), &[]);
    let places = (0..workers).map(place).collect::<Result<Vec<_>>>()?;
    while store.run(run).await?.context("the run is gone")?.state == legwork_shared::run::RunState::Active {
        tokio::time::sleep(LOOK).await;
    }
    for place in places {
        place.end().await?;
    }
    let events = store.events(run, 0, usize::MAX >> 1).await?;
    let is_start = |record: &&EventRecord| matches!(record.event.kind, EventKind::Started { .. });
    let first = events.iter().find(is_start).context("nothing has started")?.at;
    let last = events.last().context("nothing has ended")?.at;
    Ok(Duration::from_millis(last.since_ms(first)).as_secs_f64())
}

fn plan() -> Result<Plan> {
    let errand = Errand {
        ms: u64::try_from(JOB.as_millis())?,
        ..Errand::default()
    };
    let context = serde_json::to_value(errand)?;
    let job = |number| PlannedJob {
        id: format!("job-{number}"),
        agent: Some(MARKER.to_owned()),
        description: "Wait.".to_owned(),
        context: Some(context.clone()),
        ..PlannedJob::default()
    };
    Ok(Plan {
        jobs: (0..JOBS).map(job).collect(),
        ..Plan::default()
    })
}
