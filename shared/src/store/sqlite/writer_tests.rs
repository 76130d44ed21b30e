//! One operation never takes another down, and nobody waits in vain.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use rusqlite::params;

use super::*;
use crate::store::sqlite::connection;
use crate::store::sqlite::migrate;
use crate::store::sqlite::query::{prepared, sql};

fn writer(folder: &Path) -> Writer {
    let path = folder.join("store.db");
    let (options, closing) = (SqliteOptions::default(), Closing::default());
    let conn = connection::writer(&path, &options, &closing).unwrap();
    migrate::migrate(&conn, &path).unwrap();
    Writer::start(conn, path, options, Arc::default(), closing).unwrap()
}

/// Writes a worker's record of that number.
fn put(tx: &mut Tx<'_>, number: u8) -> Result<u8, Fault> {
    prepared(tx.conn, sql!("worker_put"))?.execute(params![[number; 16], "{}"])?;
    tx.changed = true;
    Ok(number)
}

async fn put_alone(writer: &Writer, number: u8) -> Result<u8, StoreError> {
    writer.call(Survives::Everything, move |tx| put(tx, number)).await
}

async fn numbers(writer: &Writer) -> Vec<u8> {
    let all = |tx: &mut Tx<'_>| -> Result<Vec<u8>, Fault> {
        let mut statement = tx.conn.prepare("SELECT id FROM worker ORDER BY id")?;
        let ids = statement.query_map([], |row| Ok(row.get::<_, [u8; 16]>(0)?[0]))?;
        Ok(ids.collect::<Result<_, _>>()?)
    };
    writer.call(Survives::Processes, all).await.unwrap()
}

/// Keeps the writer busy until the sender is dropped, so that what is called in the meantime becomes one group.
fn hold(go: Receiver<()>) -> impl FnMut(&mut Tx<'_>) -> Result<(), Fault> {
    move |_| {
        // Nothing is ever sent: this waits for the end of the channel, and passes once that has come.
        let _ = go.recv();
        Ok(())
    }
}

/// Polls a future once, so that its call is on its way.
fn poll<T>(future: &mut (impl Future<Output = T> + Unpin)) -> std::task::Poll<T> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    std::pin::Pin::new(future).poll(&mut context)
}

fn corrupt() -> StoreError {
    StoreError::Corrupt {
        message: "a test says so".to_owned(),
    }
}

#[tokio::test]
async fn a_panic_is_an_answer_and_the_next_operation_works() {
    let folder = tempfile::tempdir().unwrap();
    let writer = writer(folder.path());
    assert_eq!(put_alone(&writer, 1).await, Ok(1));
    let panicked = writer
        .call(Survives::Everything, |tx| -> Result<(), Fault> {
            put(tx, 2)?;
            panic!("a test panics in the writer");
        })
        .await;
    assert_eq!(panicked, Err(gone()));
    assert_eq!(put_alone(&writer, 3).await, Ok(3));
    assert_eq!(numbers(&writer).await, [1, 3]);
}

#[tokio::test]
async fn of_a_group_each_operation_stands_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let writer = writer(folder.path());
    let (go, gate) = channel();
    let held = writer.call(Survives::Everything, hold(gate));
    let refused = writer.call(Survives::Everything, |_| -> Result<(), Fault> {
        Err(Fault::Refused(StoreError::KeyConflict { key: "k".to_owned() }))
    });
    let broken = writer.call(Survives::Everything, |tx| -> Result<(), Fault> {
        put(tx, 7)?;
        Err(Fault::Broken(corrupt()))
    });
    let (first, last) = (put_alone(&writer, 1), put_alone(&writer, 2));
    let release = async move { drop(go) };
    let (held, first, refused, broken, last, ()) = tokio::join!(held, first, refused, broken, last, release);
    assert_eq!((held, first, last), (Ok(()), Ok(1), Ok(2)));
    assert_eq!(refused, Err(StoreError::KeyConflict { key: "k".to_owned() }));
    assert_eq!(broken, Err(corrupt()));
    assert_eq!(numbers(&writer).await, [1, 2]);
}

#[tokio::test]
async fn what_the_whole_group_meets_is_told_to_all_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let writer = writer(folder.path());
    let (go, gate) = channel();
    let held = writer.call(Survives::Everything, hold(gate));
    let full = || StoreError::Full {
        message: "a test says so".to_owned(),
    };
    let starved = writer.call(Survives::Everything, move |_| -> Result<(), Fault> {
        Err(Fault::Broken(full()))
    });
    let release = async move { drop(go) };
    let (held, beside, starved, ()) = tokio::join!(held, put_alone(&writer, 1), starved, release);
    // The held one may have been in a group of its own.
    assert!(held.is_ok() || held == Err(full()), "{held:?}");
    assert_eq!((beside, starved), (Err(full()), Err(full())));
    assert_eq!(numbers(&writer).await, [] as [u8; 0]);
    assert_eq!(put_alone(&writer, 2).await, Ok(2));
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_any_more_is_done_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let writer = writer(folder.path());
    let (go, gate) = channel();
    let mut held = Box::pin(writer.call(Survives::Everything, hold(gate)));
    let mut dropped = Box::pin(put_alone(&writer, 1));
    assert!(poll(&mut held).is_pending() && poll(&mut dropped).is_pending());
    drop(dropped);
    drop(go);
    assert_eq!(held.await, Ok(()));
    assert_eq!(numbers(&writer).await, [1]);
}

#[tokio::test]
async fn a_dropped_writer_has_written_what_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let first = writer(folder.path());
    let (go, gate) = channel();
    let mut held = Box::pin(first.call(Survives::Everything, hold(gate)));
    let mut put = Box::pin(put_alone(&first, 1));
    assert!(poll(&mut held).is_pending() && poll(&mut put).is_pending());
    drop(go);
    drop((held, put));
    drop(first);
    assert_eq!(numbers(&writer(folder.path())).await, [1]);
}

#[tokio::test]
async fn waiting_for_changes_is_not_needed_to_see_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let writer = writer(folder.path());
    let changes = writer.changes();
    assert!(!changes.has_changed().unwrap());
    put_alone(&writer, 1).await.unwrap();
    assert!(changes.has_changed().unwrap());
}
