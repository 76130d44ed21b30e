//! What the server or the way to it reports, by what has to be done next.

use std::error::Error;
use std::sync::Arc;

use redis::{ErrorKind, RedisError};

use crate::store::StoreError;

/// A server that asks for a password, which it says in two ways.
const NO_PASSWORD: &str = "it asks for a password, and its address has none";

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

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Wait(message) | Self::Reconnect(message) | Self::Fatal(StoreError::Unfit { message }) => {
                f.write_str(message)
            }
            Self::NoScript => f.write_str("it forgets its scripts"),
            Self::Fatal(error) => error.fmt(f),
        }
    }
}

impl Trouble {
    /// What `error` means.
    pub fn of(error: &RedisError) -> Self {
        let message = error.to_string();
        // Of several commands at once, the first that failed says what is wrong.
        if let Some(errors) = error.clone().into_server_errors()
            && let Some((_, first)) = errors.first()
        {
            let details = first.details().unwrap_or_default();
            return of_code(first.code(), details, format!("{} {details}", first.code()));
        }
        match error.kind() {
            ErrorKind::AuthenticationFailed => unfit("it refuses the user or the password of its address"),
            ErrorKind::InvalidClientConfig | ErrorKind::RESP3NotSupported => unfit(message),
            // Choosing the data base is a part of connecting.
            ErrorKind::Server(_) if message.contains("LOADING") || message.contains("loading") => Self::Wait(message),
            ErrorKind::Server(_) => unfit(error.detail().map_or(message.clone(), str::to_owned)),
            ErrorKind::Parse => Self::Reconnect(format!("its answer is none of the protocol ({message})")),
            _ => match of_tls(error) {
                Some(why) => unfit(why),
                // Broken connections and time-outs.
                None => Self::Reconnect(message),
            },
        }
    }
}

/// What is wrong with TLS, if that is what is wrong: trying again does not help.
fn of_tls(error: &RedisError) -> Option<String> {
    let shared = error.source()?.downcast_ref::<Arc<dyn Error + Send + Sync>>()?;
    let error = match shared.downcast_ref::<std::io::Error>() {
        Some(error) => error.get_ref()?.downcast_ref::<rustls::Error>()?,
        None => shared.downcast_ref::<rustls::Error>()?,
    };
    Some(match error {
        rustls::Error::InvalidCertificate(why) => {
            format!("its certificate is not trusted ({why:?}): name the authority that signed it with `?ca=FILE`")
        }
        rustls::Error::InvalidMessage(_) => {
            "it does not speak TLS at that port: use `redis://`, or its `tls-port`".to_owned()
        }
        rustls::Error::AlertReceived(alert) => {
            format!("it refuses the connection ({alert:?}): it may ask for a certificate, `?cert=FILE&key=FILE`")
        }
        other => format!("a secure connection is not possible: {other}"),
    })
}

fn of_code(code: &str, details: &str, message: String) -> Trouble {
    match code {
        "NOSCRIPT" => Trouble::NoScript,
        // It starts, or is at a long script, or waits for its replicas; or the slot is on its way to another node, and no
        // script may see one half of a run.
        "LOADING" | "BUSY" | "NOREPLICAS" | "TRYAGAIN" | "ASK" => Trouble::Wait(message),
        // The server has become a replica, or another node has the slot: ask again where the master is.
        "READONLY" | "MASTERDOWN" | "MOVED" | "CLUSTERDOWN" | "UNBLOCKED" => Trouble::Reconnect(message),
        "OOM" | "MISCONF" => full(message),
        "NOAUTH" => unfit(NO_PASSWORD),
        "WRONGPASS" => unfit("it refuses the user or the password of its address"),
        "NOPERM" => unfit(format!(
            "its user may not do what is needed ({details}): see `user` in ops/redis/redis.conf"
        )),
        _ => of_words(details, message),
    }
}

/// Errors without a code of their own, and those that servers before version 7 wrap when they come from a script.
fn of_words(details: &str, message: String) -> Trouble {
    let says = |words: &str| details.contains(words);
    if says("cluster support disabled") {
        return unfit("it is no cluster: give its address as `redis://`, without `+cluster`");
    }
    if says("unauthenticated") {
        return unfit(NO_PASSWORD);
    }
    if says("READONLY") || says("max number of clients") || says("non local key") {
        return Trouble::Reconnect(message);
    }
    if says("OOM ") || says("MISCONF ") {
        return full(message);
    }
    if says("unknown command") && says("SENTINEL") {
        return unfit("it is no sentinel: give the address of the sentinels, usually at port 26379, or use `redis://`");
    }
    Trouble::Fatal(StoreError::Corrupt { message })
}

fn unfit(message: impl Into<String>) -> Trouble {
    Trouble::Fatal(StoreError::Unfit {
        message: message.into(),
    })
}

fn full(message: String) -> Trouble {
    Trouble::Fatal(StoreError::Full { message })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str, details: &str) -> Trouble {
        Trouble::of(&redis::make_extension_error(code.to_owned(), Some(details.to_owned())))
    }

    #[test]
    fn what_passes_is_waited_for_and_what_moved_is_looked_for() {
        for code in ["LOADING", "BUSY", "NOREPLICAS", "TRYAGAIN", "ASK"] {
            assert!(matches!(of(code, "…"), Trouble::Wait(_)), "{code}");
        }
        for code in ["READONLY", "MASTERDOWN", "MOVED", "CLUSTERDOWN", "UNBLOCKED"] {
            assert!(matches!(of(code, "…"), Trouble::Reconnect(_)), "{code}");
        }
        assert_eq!(of("NOSCRIPT", "…"), Trouble::NoScript);
    }

    #[test]
    fn what_a_script_met_is_told_in_the_words_of_old_servers_too() {
        let script = "Error running script (call to f_1): @user_script:3: -";
        let full = of("ERR", &format!("{script}OOM command not allowed"));
        assert!(matches!(full, Trouble::Fatal(StoreError::Full { .. })), "{full:?}");
        let moved = of("ERR", &format!("{script}READONLY You can't write"));
        assert!(matches!(moved, Trouble::Reconnect(_)), "{moved:?}");
    }

    #[test]
    fn mistakes_are_told_with_what_to_do() {
        for (code, details, what) in [
            ("NOAUTH", "Authentication required.", "password"),
            (
                "NOPERM",
                "this user has no permissions to run the 'eval' command",
                "redis.conf",
            ),
            ("ERR", "Protocol error: unauthenticated multibulk length", "password"),
            ("ERR", "This instance has cluster support disabled", "no cluster"),
            ("ERR", "unknown command 'SENTINEL', with args", "no sentinel"),
        ] {
            let Trouble::Fatal(StoreError::Unfit { message }) = of(code, details) else {
                panic!("{code} {details} should be a mistake");
            };
            assert!(message.contains(what), "{message}");
        }
    }
}
