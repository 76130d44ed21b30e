//! Where the store is: a file of this machine, or a server.

use std::fmt;
use std::path::PathBuf;

use legwork_shared::store::redis::without_user;

/// Where the store is. Shown without user and password.
#[derive(Clone, PartialEq, Eq)]
pub enum StorePlace {
    /// A file.
    File(PathBuf),
    /// The address of a server: `redis://…`.
    Server(String),
}

impl StorePlace {
    /// The place of that text: whatever has a scheme is an address.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.contains("://") {
            return Ok(Self::Server(text.trim().to_owned()));
        }
        super::value::path(text).map(Self::File)
    }
}

impl Default for StorePlace {
    fn default() -> Self {
        Self::File(PathBuf::new())
    }
}

impl fmt::Display for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Server(address) => f.pad(&without_user(address)),
        }
    }
}

impl fmt::Debug for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StorePlace({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d57_an_address_is_shown_without_its_password() {
        let place = StorePlace::parse("rediss://me:secret@db:6379/1?prefix=two");
        let shown = place.as_ref().map(ToString::to_string);
        assert_eq!(shown, Ok("rediss://db:6379/1".to_owned()));
        assert!(!format!("{place:?}").contains("secret"));
    }

    #[test]
    fn what_has_no_scheme_is_a_file() {
        let file = |text: &str| Ok(StorePlace::File(PathBuf::from(text)));
        assert_eq!(StorePlace::parse("work/legwork.db"), file("work/legwork.db"));
        assert!(StorePlace::parse("").is_err());
    }
}
