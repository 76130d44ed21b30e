//! Where a store is: the address of a server, of the sentinels that know it, or of a cluster.

use redis::sentinel::{SentinelClient, SentinelNodeConnectionInfo, SentinelServerType};
use redis::{Client, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo, TlsMode};
use tokio::sync::Mutex;

use crate::store::StoreError;

/// What keys begin with where the address says nothing else.
pub(super) const PREFIX: &str = "lw";

/// How a server is found.
pub(super) enum Topology {
    /// At one address.
    Single(Box<Client>),
    /// At the address that the sentinels name.
    Sentinel(Box<Mutex<SentinelClient>>),
    /// On several servers, each of which has some of the slots; these are known to begin with.
    Cluster(Vec<ConnectionInfo>),
}

/// An address, taken apart.
pub(super) struct Address {
    pub topology: Topology,
    /// What each key begins with.
    pub prefix: String,
    /// In how many shards a new store is laid out.
    pub shards: Option<u8>,
    /// The address without user and password, for messages.
    pub shown: String,
}

impl Address {
    /// Takes an address apart: `redis://`, `rediss://`, `unix://`, `redis+sentinel://host:port,…/master/db` or
    /// `redis+cluster://host:port,…`, each with `?prefix=` and `?shards=` as wanted.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        let parts = Parts::of(text).ok_or_else(|| wrong("it has no `://`"))?;
        let prefix = parts.option("prefix").unwrap_or(PREFIX).to_owned();
        if prefix.is_empty()
            || !prefix
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
        {
            return Err(wrong("its prefix may have letters, digits and `-_.:` only"));
        }
        let shards = match parts.option("shards").map(str::parse) {
            None => None,
            Some(Ok(shards)) if shards > 0 => Some(shards),
            Some(_) => return Err(wrong("its shards are not a number from 1 to 255")),
        };
        Ok(Self {
            topology: parts.topology()?,
            prefix,
            shards,
            shown: parts.shown(),
        })
    }
}

/// An address without user, password and options, to be shown.
#[must_use]
pub fn without_user(address: &str) -> String {
    Parts::of(address).map_or_else(|| address.to_owned(), |parts| parts.shown())
}

fn wrong(why: impl std::fmt::Display) -> StoreError {
    StoreError::Unfit {
        message: format!("its address cannot be used: {why}"),
    }
}

/// `scheme://user@hosts/path?query`.
struct Parts<'a> {
    text: &'a str,
    scheme: &'a str,
    user: Option<&'a str>,
    hosts: &'a str,
    path: &'a str,
    query: &'a str,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, authority),
        };
        Some(Self {
            text,
            scheme,
            user,
            hosts,
            path,
            query,
        })
    }

    fn option(&self, name: &str) -> Option<&'a str> {
        self.query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find_map(|(key, value)| (key == name).then_some(value))
    }

    fn shown(&self) -> String {
        format!("{}://{}{}", self.scheme, self.hosts, self.path)
    }

    fn topology(&self) -> Result<Topology, StoreError> {
        let secure = self.scheme.starts_with("rediss") || self.scheme.starts_with("valkeys");
        match self.scheme.split_once('+').map(|(_, kind)| kind) {
            Some("sentinel") => self.sentinel(secure),
            Some("cluster") => {
                let nodes = self.each_host(secure, self.user, "").map(info_of);
                Ok(Topology::Cluster(nodes.collect::<Result<_, _>>()?))
            }
            _ => {
                let client = Client::open(info_of(self.text.to_owned())?).map_err(wrong)?;
                Ok(Topology::Single(Box::new(client)))
            }
        }
    }

    /// An address of each host alone.
    fn each_host(&self, secure: bool, user: Option<&str>, path: &str) -> impl Iterator<Item = String> {
        let scheme = if secure { "rediss" } else { "redis" };
        let user = user.map_or(String::new(), |user| format!("{user}@"));
        self.hosts
            .split(',')
            .map(move |host| format!("{scheme}://{user}{host}{path}"))
    }

    fn sentinel(&self, secure: bool) -> Result<Topology, StoreError> {
        let mut path = self.path.trim_matches('/').splitn(2, '/');
        let master = path.next().filter(|name| !name.is_empty());
        let master = master.ok_or_else(|| wrong("it names no master, as in `redis+sentinel://host:26379/mymaster`"))?;
        let database = path.next().map_or(String::new(), |database| format!("/{database}"));
        // User and password are the server's; sentinels are asked without.
        let sentinels = self.each_host(false, None, "").map(info_of);
        let server = info_of(format!(
            "redis://{}server{database}",
            self.user.map_or(String::new(), |user| format!("{user}@"))
        ))?;
        let settings: RedisConnectionInfo = server.redis_settings().clone();
        let mut node = SentinelNodeConnectionInfo::default().set_redis_connection_info(settings);
        if secure {
            node = node.set_tls_mode(TlsMode::Secure);
        }
        let sentinels: Vec<ConnectionInfo> = sentinels.collect::<Result<_, _>>()?;
        let client = SentinelClient::build(sentinels, master, Some(node), SentinelServerType::Master).map_err(wrong)?;
        Ok(Topology::Sentinel(Box::new(Mutex::new(client))))
    }
}

fn info_of(address: String) -> Result<ConnectionInfo, StoreError> {
    // What the library says may repeat the address, and with it the password.
    address.into_connection_info().map_err(|error| wrong(error.category()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Result<(String, String, Option<u8>), StoreError> {
        Address::parse(text).map(|address| (address.shown, address.prefix, address.shards))
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        let expected = ("redis://db:6379/2".to_owned(), "lw".to_owned(), None);
        assert_eq!(shown("redis://me:secret@db:6379/2"), Ok(expected));
    }

    #[test]
    fn prefix_and_shards_stand_in_the_query() {
        let expected = ("unix:///run/redis.sock".to_owned(), "two".to_owned(), Some(12));
        assert_eq!(shown("unix:///run/redis.sock?db=1&prefix=two&shards=12"), Ok(expected));
    }

    #[test]
    fn sentinels_and_clusters_are_lists_of_hosts() {
        let sentinel = Address::parse("redis+sentinel://a:1,b:2/mymaster/3").expect("an address");
        assert!(matches!(sentinel.topology, Topology::Sentinel(_)));
        let cluster = Address::parse("rediss+cluster://me:secret@a:1,b:2,c:3").expect("an address");
        assert!(matches!(cluster.topology, Topology::Cluster(nodes) if nodes.len() == 3));
    }

    #[test]
    fn what_is_no_address_is_refused_without_repeating_its_password() {
        for text in [
            "db:6379",
            "redis+sentinel://a:1",
            "redis://me:secret@db:6379/two",
            "redis://db?shards=0",
            "redis://db?prefix={x}",
        ] {
            let error = shown(text).expect_err(text).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
