//! What the server or the way to it reports, by what has to be done next.

use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::store::StoreError;

/// What a failed call means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The same call may be made again over the same connection, a little later.
    Wait(String),
    /// The connection is of no more use; the call may be made again over a new one.
    Reconnect(String),
    /// The server does not know the script any more: send it along.
    NoScript,
    /// Trying again does not help.
    Fatal(StoreError),
}

impl Trouble {
    /// What `error` means.
    pub fn of(error: &RedisError) -> Self {
        let message = error.to_string();
        match error.kind() {
            ErrorKind::Server(kind) => of_server(kind, message),
            ErrorKind::Extension => of_code(error.code().unwrap_or_default(), message),
            ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig | ErrorKind::RESP3NotSupported => {
                Self::Fatal(StoreError::Unfit { message })
            }
            // Broken connections, time-outs, sentinels and clusters in the middle of a change.
            _ => Self::Reconnect(message),
        }
    }
}

fn of_server(kind: ServerErrorKind, message: String) -> Trouble {
    match kind {
        ServerErrorKind::NoScript => Trouble::NoScript,
        ServerErrorKind::BusyLoading | ServerErrorKind::TryAgain | ServerErrorKind::ClusterDown => {
            Trouble::Wait(message)
        }
        // The server has become a replica, or knows nobody to be one of: ask again where the master is.
        ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown | ServerErrorKind::Moved | ServerErrorKind::Ask => {
            Trouble::Reconnect(message)
        }
        ServerErrorKind::NoPerm => Trouble::Fatal(StoreError::Unfit { message }),
        ServerErrorKind::ResponseError if message.contains("READONLY") => Trouble::Reconnect(message),
        ServerErrorKind::ResponseError if message.contains("OOM ") => full(message),
        _ => Trouble::Fatal(StoreError::Corrupt { message }),
    }
}

fn of_code(code: &str, message: String) -> Trouble {
    match code {
        // A script takes longer than the server likes.
        "BUSY" | "NOREPLICAS" => Trouble::Wait(message),
        "OOM" | "MISCONF" => full(message),
        "NOAUTH" | "WRONGPASS" => Trouble::Fatal(StoreError::Unfit { message }),
        "UNBLOCKED" => Trouble::Reconnect(message),
        _ => Trouble::Fatal(StoreError::Corrupt { message }),
    }
}

fn full(message: String) -> Trouble {
    Trouble::Fatal(StoreError::Full { message })
}
