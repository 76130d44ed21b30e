//! A few connections that only read, beside the writer.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::SqliteOptions;
use super::connection::{self, Closing};
use super::error::classify;
use crate::store::StoreError;

/// Connections, and so reads at the same time. Reads are short; more of them would wait for the same cores and disk.
const CONNECTIONS_MAX: usize = 4;

/// The connections that are not in use.
pub(super) struct Readers {
    shared: Arc<Shared>,
    places: Arc<Semaphore>,
}

struct Shared {
    path: PathBuf,
    options: SqliteOptions,
    closing: Closing,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub fn new(path: PathBuf, options: SqliteOptions, closing: Closing) -> Self {
        let shared = Shared {
            path,
            options,
            closing,
            idle: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
            places: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
        }
    }

    /// Looks at one consistent state of the store, off the async threads.
    pub async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let unavailable = |message: String| StoreError::Unavailable { message };
        let place = self.places.clone().acquire_owned().await;
        let place = place.map_err(|error| unavailable(error.to_string()))?;
        let shared = self.shared.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let _place = place;
            shared.look(look)
        });
        reading
            .await
            .unwrap_or_else(|error| Err(unavailable(format!("a read stopped: {error}"))))
    }
}

impl Shared {
    fn look<T>(&self, look: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let conn = match idle {
            Some(conn) => conn,
            None => connection::reader(&self.path, &self.options, &self.closing)?,
        };
        let execute = |sql| {
            conn.prepare_cached(sql)
                .and_then(|mut statement| statement.execute([]))
                .map_err(|error| classify(&error))
        };
        execute("BEGIN")?;
        let answer = look(&conn);
        execute("COMMIT")?;
        // A connection that failed or panicked on the way here is closed instead.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
        answer
    }
}
