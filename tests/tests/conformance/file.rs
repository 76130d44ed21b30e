//! What only an engine with a file can do: survive, be shared, be damaged, be of another format.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use legwork_shared::batch::Batch;
use legwork_shared::clock::SimClock;
use legwork_shared::job::JobState;
use legwork_shared::store::sqlite::{SqliteOptions, SqliteStore};
use legwork_shared::store::{Store, StoreError};
use legwork_tests::engine::{Engine, START, open_file};
use legwork_tests::make;
use rusqlite::Connection;

use crate::world::{World, snapshot};

fn clock() -> Arc<SimClock> {
    Arc::new(SimClock::at(START))
}

fn open_error(path: &Path) -> StoreError {
    open_file(path, clock()).err().expect("the file should be refused")
}

#[tokio::test]
async fn everything_is_there_when_the_file_is_opened_again() {
    let mut world = World::on(Engine::Sqlite).await;
    let (run, _) = world.submit_one("a").await;
    let claimed = world.claim_one().await;
    world.succeed(&claimed).await;
    let before = world.snapshot(run.id).await;
    let path = world.path();
    // The last handle closes the file; nothing is left beside it.
    world.close();
    assert!(!path.with_extension("db-wal").exists());
    let again = open_file(&path, clock()).unwrap();
    assert_eq!(snapshot(&again, run.id).await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_by_another_process_wakes_those_who_wait() {
    let world = World::on(Engine::Sqlite).await;
    let other = world.opened_again().await;
    let mut changes = other.changes();
    for _ in 0..3 {
        changes.mark_unchanged();
        let (run, _) = world.submit_one("a").await;
        changes.changed().await.unwrap();
        assert!(other.run(run.id).await.unwrap().is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_process_knows_of_a_run_ends_when_another_replaces_it() {
    let world = World::on(Engine::Sqlite).await;
    let other = world.opened_again().await;
    let (run, _) = world.submit_one("a").await;
    assert_eq!(*other.run(run.id).await.unwrap().unwrap().run, run);
    let mut next = run.clone();
    next.version = 2;
    next.title = "renamed".to_owned();
    let mut batch = Batch::at(world.now());
    batch.runs.push(next.clone());
    world.store.commit(batch).await.unwrap();
    assert_eq!(*other.run(run.id).await.unwrap().unwrap().run, next);
    assert_eq!(*other.claim(&world.request(1)).await.unwrap()[0].run, next);
}

#[tokio::test]
async fn a_thousand_runs_of_one_agent_keep_it_once() {
    let world = World::on(Engine::Sqlite).await;
    for _ in 0..3 {
        world.submit_one("a").await;
    }
    assert_eq!(count(&world.path(), "SELECT count(*) FROM agent"), 1);
}

/// A number that a query gives.
fn count(path: &Path, query: &str) -> u32 {
    let conn = Connection::open(path).unwrap();
    conn.query_row(query, [], |row| row.get(0)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_handles_may_make_the_file_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let opening = (0..8).map(|_| {
        let path = path.clone();
        std::thread::spawn(move || open_file(&path, clock()))
    });
    let opening: Vec<_> = opening.collect();
    for handle in opening {
        handle.join().unwrap().unwrap();
    }
    assert_eq!(count(&path, "SELECT count(*) FROM job"), 0);
}

#[test]
fn a_process_killed_before_its_first_table_leaves_a_file_that_opens() {
    let folder = tempfile::tempdir().unwrap();
    // Killed before anything was written, and between the switch to the log and the first migration.
    let (empty, switched) = (folder.path().join("a.db"), folder.path().join("b.db"));
    std::fs::write(&empty, "").unwrap();
    let conn = Connection::open(&switched).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    drop(conn);
    for path in [empty, switched] {
        open_file(&path, clock()).unwrap();
        assert_eq!(count(&path, "SELECT count(*) FROM run"), 0);
    }
}

#[test]
fn a_file_of_a_newer_format_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(open_file(&path, clock()).unwrap());
    let conn = Connection::open(&path).unwrap();
    conn.pragma_update(None, "user_version", 9_999).unwrap();
    conn.pragma_update(None, "journal_mode", "DELETE").unwrap();
    drop(conn);
    let before = std::fs::read(&path).unwrap();
    let known = match open_error(&path) {
        StoreError::Newer { found: 9_999, known } => known,
        other => panic!("{other:?}"),
    };
    assert!(known < 9_999);
    assert!(std::fs::read(&path).unwrap() == before, "the file has changed");
}

/// The script of the first format, as it was released.
const FIRST_FORMAT: &str = "migrations/V1__runs_and_jobs.sql";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d54_a_file_of_the_first_format_is_brought_forward_and_its_jobs_go_on() {
    let mut world = World::on(Engine::Sqlite).await;
    let path = world.path().with_file_name("old.db");
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared")
        .join(FIRST_FORMAT);
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(&std::fs::read_to_string(script).unwrap()).unwrap();
    conn.pragma_update(None, "user_version", 1).unwrap();
    conn.pragma_update(None, "application_id", 0x4c47_574b).unwrap();
    // What the first version would have written: a job in each state that matters, under a key.
    let (made, job) = world.submit_one("queued").await;
    let (_, running) = world.submit_one("running").await;
    world.claim(1).await;
    conn.execute("ATTACH ?1 AS made", [world.path().to_str().unwrap()])
        .unwrap();
    for table in ["agent", "run", "job", "job_spec", "event"] {
        let columns: String = conn
            .query_row("SELECT group_concat(name) FROM pragma_table_info(?1)", [table], |row| {
                row.get(0)
            })
            .unwrap();
        conn.execute_batch(&format!(
            "INSERT INTO {table} ({columns}) SELECT {columns} FROM made.{table}"
        ))
        .unwrap();
    }
    drop(conn);
    let before = world.snapshot(made.id).await;
    world.store = Arc::new(open_file(&path, world.clock.clone()).unwrap());
    assert_eq!(world.snapshot(made.id).await, before);
    let states = [job.id, running.id].map(|id| (id, world.store.clone()));
    for (id, store) in states {
        let found = store.job(id).await.unwrap().unwrap().state();
        assert!(matches!(found, JobState::Queued | JobState::Running), "{found}");
    }
    crate::upkeep::finish_all(&world).await;
    assert_eq!(world.store.leader().await, Ok(None));
    assert!(count(&path, "SELECT user_version FROM pragma_user_version") > 1);
    // Brought forward once: whoever comes next finds nothing to do.
    drop(open_file(&path, clock()).unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_deleted_leaves_room_that_goes_back_to_the_file_system() {
    let world = World::on(Engine::Sqlite).await;
    let pages = || count(&world.path(), "SELECT page_count FROM pragma_page_count");
    let mut runs = Vec::new();
    for _ in 0..40 {
        let run = world.run();
        let mut spec = make::spec("a");
        spec.description = "long ".repeat(4_000);
        let job = world.queued(&run, spec);
        world.submit(&run, &[job], &[]).await;
        runs.push(run.id);
    }
    crate::upkeep::finish_all(&world).await;
    let full = pages();
    for run in runs {
        assert_eq!(crate::upkeep::prune(&world, run).await, Ok(()));
    }
    let left = pages();
    assert!(left * 4 < full, "{left} of {full} pages are left");
}

#[test]
fn a_database_of_another_program_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("CREATE TABLE theirs (a)").unwrap();
    drop(conn);
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(open_error(&path), StoreError::Corrupt { .. }));
    assert!(std::fs::read(&path).unwrap() == before, "the file has changed");
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let text = "These are my notes. ".repeat(1_000);
    std::fs::write(&path, &text).unwrap();
    assert!(matches!(open_error(&path), StoreError::Corrupt { .. }));
    assert!(std::fs::read_to_string(&path).unwrap() == text, "the file has changed");
}

#[tokio::test]
async fn a_damaged_file_is_reported_and_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut world = World::on(Engine::Sqlite).await;
    world.store = Arc::new(open_file(&path, world.clock.clone()).unwrap());
    let (run, job) = world.submit_one("a").await;
    world.close();
    let mut bytes = std::fs::read(&path).unwrap();
    let page = 4_096;
    // Everything but the first page, which says that this is a database.
    bytes[page..].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let damaged = match open_file(&path, clock()) {
        Ok(store) => {
            let read = store.job(job.id).await;
            assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{read:?}");
            store.commit(make::submission(&run, &[job], &[], START)).await.err()
        }
        Err(error) => Some(error),
    };
    assert!(matches!(damaged, Some(StoreError::Corrupt { .. })), "{damaged:?}");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nowhere").join("store.db");
    match open_error(&path) {
        StoreError::Unavailable { message } => assert!(message.contains("nowhere"), "{message}"),
        other => panic!("{other:?}"),
    }
}

/// Gives up the right of root to write anywhere, for this thread and those it starts.
fn become_ordinary() {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let mut sets = capabilities(None).unwrap();
    let beyond = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH | CapabilitySet::FOWNER;
    sets.effective.remove(beyond);
    set_capabilities(None, sets).unwrap();
}

fn forbid_writing(path: &Path) {
    let mut permissions = std::fs::metadata(path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(path, permissions).unwrap();
}

#[test]
fn a_file_or_folder_that_may_not_be_written_is_read_only() {
    let folder = tempfile::tempdir().unwrap();
    let inside = |name: &str| -> PathBuf {
        let inner = folder.path().join(name);
        std::fs::create_dir(&inner).unwrap();
        inner.join("store.db")
    };
    let (file, in_folder, fresh) = (inside("file"), inside("folder"), inside("fresh"));
    drop(open_file(&file, clock()).unwrap());
    drop(open_file(&in_folder, clock()).unwrap());
    forbid_writing(&file);
    forbid_writing(in_folder.parent().unwrap());
    forbid_writing(fresh.parent().unwrap());
    become_ordinary();
    for path in [&file, &in_folder, &fresh] {
        let error = open_file(path, clock()).err();
        assert!(
            matches!(error, Some(StoreError::ReadOnly { .. })),
            "{}: {error:?}",
            path.display()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_another_process_will_not_let_go_of_is_not_available() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let options = SqliteOptions {
        clock: clock(),
        busy_timeout_ms: 30,
        ..SqliteOptions::default()
    };
    let store = SqliteStore::open(&path, options).unwrap();
    let mut world = World::on(Engine::Sqlite).await;
    world.store = Arc::new(store);
    let run = world.run();
    let hold = Connection::open(&path).unwrap();
    hold.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = world.store.commit(world.submission(&run, &[], &[])).await;
    assert!(matches!(refused, Err(StoreError::Unavailable { .. })), "{refused:?}");
    assert_eq!(
        world.store.run(run.id).await,
        Ok(None),
        "readers do not wait for writers"
    );
    hold.execute_batch("ROLLBACK").unwrap();
    world.submit(&run, &[], &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_acknowledged_before_it_is_committed() {
    let world = World::on(Engine::Sqlite).await;
    let hold = Connection::open(world.path()).unwrap();
    hold.execute_batch("BEGIN IMMEDIATE").unwrap();
    let runs: Vec<_> = (0..50).map(|_| world.run()).collect();
    let commits: Vec<_> = runs
        .iter()
        .map(|run| {
            let (store, batch) = (world.store.clone(), world.submission(run, &[], &[]));
            tokio::spawn(async move { store.commit(batch).await })
        })
        .collect();
    // Reads go on, so the commits have had their chance to be sent.
    for run in &runs {
        assert_eq!(world.store.run(run.id).await, Ok(None));
    }
    assert!(commits.iter().all(|commit| !commit.is_finished()));
    hold.execute_batch("ROLLBACK").unwrap();
    let other = world.opened_again().await;
    for (commit, run) in commits.into_iter().zip(runs) {
        commit.await.unwrap().unwrap();
        assert!(other.run(run.id).await.unwrap().is_some());
    }
}

#[test]
fn the_schema_knows_the_words_of_the_types() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(open_file(&path, clock()).unwrap());
    let conn = Connection::open(&path).unwrap();
    let words = |table: &str, column: &str| -> BTreeSet<String> {
        let schema: String = conn
            .query_row("SELECT sql FROM sqlite_schema WHERE name = ?1", [table], |row| {
                row.get(0)
            })
            .unwrap();
        let comparison = format!("{column} = '");
        let checks = schema.split(&comparison).skip(1);
        checks.map(|rest| rest.split('\'').next().unwrap().to_owned()).collect()
    };
    let states: BTreeSet<String> = JobState::ALL.iter().map(|state| state.as_str().to_owned()).collect();
    assert_eq!(words("job", "state"), states);
    for word in words("edge", "condition") {
        assert!(legwork_shared::dag::Condition::parse(&word).is_some(), "{word}");
    }
    assert_eq!(words("edge", "condition").len(), 3);
}

/// Steps that may look at all rows of a table: workers, pauses, schedules and open cascades are few.
const SMALL: [&str; 5] = [
    "SCAN worker",
    "SCAN cascade",
    "SCAN pause",
    "SCAN schedule",
    "SCAN CONSTANT ROW",
];
/// Queries that are there to look at everything: the list of tables, and `doctor`'s check of the whole file.
const WHOLE: [&str; 2] = ["tables", "quick_check"];

#[test]
fn no_query_looks_at_all_rows_of_a_long_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(open_file(&path, clock()).unwrap());
    let conn = Connection::open(&path).unwrap();
    let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/queries");
    let mut seen = 0;
    for script in std::fs::read_dir(scripts).unwrap() {
        let script = script.unwrap().path();
        let text = std::fs::read_to_string(&script).unwrap();
        let name = script.file_stem().unwrap().to_string_lossy().into_owned();
        let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
        for index in 1..=statement.parameter_count() {
            statement.raw_bind_parameter(index, 1).unwrap();
        }
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().unwrap() {
            let step: String = row.get(3).unwrap();
            let looks_at_all = step.starts_with("SCAN") && !WHOLE.contains(&name.as_str());
            assert!(!looks_at_all || SMALL.contains(&step.as_str()), "{name}: {step}");
            assert!(!step.contains("TEMP B-TREE FOR ORDER BY"), "{name} sorts: {step}");
        }
        seen += 1;
    }
    assert!(seen > 50, "{seen} queries");
}
