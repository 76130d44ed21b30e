//! What `SQLite` reports, by what the caller does next.

use rusqlite::{Error, ErrorCode, ffi};

use crate::store::StoreError;
pub(super) use crate::store::document::corrupt;

/// The store error that a failed statement means.
pub(super) fn classify(error: &Error) -> StoreError {
    let message = error.to_string();
    let Error::SqliteFailure(failure, _) = error else {
        // Everything else is a value that is not what we wrote.
        return StoreError::Corrupt { message };
    };
    match (failure.code, failure.extended_code) {
        (ErrorCode::DatabaseBusy, _) => StoreError::Unavailable {
            message: format!("another process has held its file for too long ({message})"),
        },
        (ErrorCode::DiskFull, _)
        // A write that the file system refuses half-way (a quota, a size limit, a full tmpfs) comes as an I/O error.
        | (ErrorCode::SystemIoFailure, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE) => StoreError::Full { message },
        (ErrorCode::ReadOnly | ErrorCode::PermissionDenied, _) => StoreError::ReadOnly { message },
        (
            ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OperationInterrupted
            | ErrorCode::OperationAborted
            | ErrorCode::OutOfMemory
            | ErrorCode::SchemaChanged
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen,
            _,
        ) => StoreError::Unavailable { message },
        _ => StoreError::Corrupt { message },
    }
}

/// A record that somebody changed first.
pub(super) fn conflict(what: impl std::fmt::Display) -> StoreError {
    StoreError::Conflict { what: what.to_string() }
}

/// Why an operation inside the writer's transaction did not succeed.
#[derive(Debug)]
pub(super) enum Fault {
    /// It was refused before it wrote anything: the transaction goes on without it.
    Refused(StoreError),
    /// It failed, perhaps half-way: the transaction must be rolled back.
    Broken(StoreError),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Broken(classify(&error))
    }
}

impl From<StoreError> for Fault {
    /// An error of reading a record, since refusals are made by name.
    fn from(error: StoreError) -> Self {
        Self::Broken(error)
    }
}
