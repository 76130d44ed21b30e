//! What an operation costs in a file does not grow with what has ended: shown by plans and by counted steps, not by time.
//! That no query looks at a whole table is shown in `file`.

use std::collections::BTreeMap;

use legwork_shared::store::ClaimRequest;
use legwork_tests::engine::Engine;
use legwork_tests::harness::repository;
use legwork_tests::make;
use rusqlite::types::Value;
use rusqlite::{Connection, StatementStatus, params_from_iter};

use crate::world::World;

/// Finished jobs before the first count: more than a page, so that pages are full both times.
const FEW: usize = 20;
/// Finished jobs that come on top.
const MANY: usize = 400;
/// How many rows a query may give.
const PAGE: i64 = 10;

fn query(name: &str) -> String {
    let path = repository().join("shared/queries").join(name).with_extension("sql");
    std::fs::read_to_string(path).unwrap()
}

/// The steps of the plan of a query, in words.
fn plan(conn: &Connection, name: &str) -> Vec<String> {
    let mut explain = conn
        .prepare(&format!("EXPLAIN QUERY PLAN {}", query(name)))
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    // A plan does not depend on what is asked for, so nothing is bound.
    let mut rows = explain.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        steps.push(row.get("detail").unwrap());
    }
    steps
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claim_and_maintenance_search_indexes_that_hold_no_ended_job() {
    let world = World::on(Engine::Sqlite).await;
    let conn = Connection::open(world.path()).unwrap();
    let indexes = [
        ("claim_candidates", "job_queued", "state = 'queued' AND aside = 0"),
        ("job_ids_due", "job_to_wake", "wake_at IS NOT NULL"),
        ("due_next", "job_to_wake", "wake_at IS NOT NULL"),
    ];
    for (name, index, condition) in indexes {
        let plan = plan(&conn, name);
        assert!(
            matches!(plan.as_slice(), [step] if step.contains(&format!(" INDEX {index} ("))),
            "{name}: {plan:?}"
        );
        let text: String = conn
            .query_row("SELECT sql FROM sqlite_schema WHERE name = ?1", [index], |row| {
                row.get(0)
            })
            .unwrap();
        assert!(text.ends_with(&format!("WHERE {condition}")), "{text}");
    }
}

/// The queries that run all the time, with what they are asked.
fn hot(world: &World, run: &[u8]) -> Vec<(&'static str, Vec<Value>)> {
    let text = |text: &str| Value::Text(text.to_owned());
    let (now, limit) = (Value::Integer(i64::MAX / 2), Value::Integer(PAGE));
    let (lowest, highest) = (Value::Blob(vec![0; 16]), Value::Blob(vec![0xff; 16]));
    let run = Value::Blob(run.to_vec());
    let mut hot = vec![
        ("claim_candidates", vec![text("live"), limit.clone()]),
        ("job_ids_held", vec![Value::Blob(world.worker.as_bytes().to_vec())]),
        ("cascades", vec![limit.clone()]),
        ("turns", vec![text("live"), Value::Integer(0), run.clone()]),
        ("run_counters", vec![run.clone()]),
        ("run_version", vec![run.clone()]),
        ("event_last", vec![run.clone()]),
        ("key", vec![text("default"), text("k")]),
        (
            "job_ids_of_run",
            vec![run.clone(), lowest.clone(), limit.clone(), Value::Null],
        ),
        (
            "job_ids_by_name",
            vec![run, lowest.clone(), limit.clone(), Value::Null, text("scheduled")],
        ),
        ("job_ids", vec![lowest.clone(), limit.clone(), Value::Null]),
        ("run_ids", vec![text("default"), highest, limit.clone()]),
    ];
    for state in ["scheduled", "running", "queued"] {
        hot.push(("job_ids_due", vec![text(state), now.clone(), limit.clone()]));
        hot.push(("due_next", vec![text(state), Value::Integer(0)]));
    }
    for state in ["running", "succeeded"] {
        hot.push((
            "job_ids_by_state",
            vec![text(state), lowest.clone(), limit.clone(), Value::Null],
        ));
    }
    hot
}

/// The steps that each hot query takes in the engine's machine, all its rows read; none of them walks a whole table.
fn steps(world: &World, run: &[u8]) -> BTreeMap<String, (usize, i32)> {
    let conn = Connection::open(world.path()).unwrap();
    let count = |(name, values): (&str, Vec<Value>)| {
        let mut statement = conn.prepare(&query(name)).unwrap();
        let shown = format!("{name} {values:?}");
        let rows = statement
            .query_map(params_from_iter(values), |_| Ok(()))
            .unwrap()
            .count();
        let walked = statement.get_status(StatementStatus::FullscanStep);
        assert!(walked == 0 || name == "cascades", "{shown} walks {walked} rows");
        (shown, (rows, statement.get_status(StatementStatus::VmStep)))
    };
    hot(world, run).into_iter().map(count).collect()
}

async fn finish(world: &World, jobs: usize) {
    for _ in 0..jobs {
        world.submit_one("done").await;
        let claimed = world.claim_one().await;
        world.succeed(&claimed).await;
    }
}

#[tokio::test]
async fn d62_finished_jobs_cost_the_hot_queries_not_a_single_step() {
    let world = World::on(Engine::Sqlite).await;
    let live = |name: &str| {
        let mut spec = make::spec(name);
        spec.queue = "live".to_owned();
        spec
    };
    let run = world.run();
    let jobs = [
        world.queued(&run, live("running")),
        world.queued(&run, live("queued")),
        world.scheduled(&run, live("scheduled"), world.now() + 5_000),
    ];
    world.submit(&run, &jobs, &[]).await;
    let request = ClaimRequest {
        queues: vec!["live".to_owned()],
        ..world.request(1)
    };
    assert_eq!(world.store.claim(&request).await.unwrap().len(), 1);

    finish(&world, FEW).await;
    let few = steps(&world, run.id.as_bytes());
    assert!(few.values().all(|(_, steps)| *steps > 0), "they are counted: {few:#?}");
    finish(&world, MANY).await;
    assert_eq!(steps(&world, run.id.as_bytes()), few);
    let found = |name: &str| {
        few.iter()
            .filter(|(shown, _)| shown.starts_with(name))
            .map(|(_, (rows, _))| *rows)
            .sum::<usize>()
    };
    assert_eq!(found("claim_candidates"), 1);
    assert_eq!(found("job_ids_due"), 2, "the scheduled one and the lease");
    assert_eq!(found("run_ids"), 10);
}
