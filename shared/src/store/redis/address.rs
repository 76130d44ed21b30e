//! Where a store is: the address of a server, of the sentinels that know it, or of a cluster.

use std::path::Path;

use redis::{Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, TlsCertificates};

use crate::store::StoreError;

/// What keys begin with where the address says nothing else.
pub(super) const PREFIX: &str = "lw";
/// Where sentinels listen if nothing else is said.
const SENTINEL_PORT: &str = "26379";
/// The options of an address that are ours.
const OURS: [&str; 9] = [
    "prefix",
    "shards",
    "min_replicas",
    "ca",
    "cert",
    "key",
    "sentinel_user",
    "sentinel_pass",
    "sentinel_tls",
];
/// The options that the client's library reads.
const THEIRS: [&str; 4] = ["db", "user", "pass", "protocol"];

/// How a server is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Topology {
    /// At the one address.
    Single,
    /// Where the sentinels say that this master is.
    Sentinel {
        /// The name under which they watch it.
        master: String,
    },
    /// On several servers, each of which has some of the slots.
    Cluster,
}

/// An address, taken apart.
pub(super) struct Address {
    pub topology: Topology,
    /// The servers that it names: the store's own, the sentinels that know it, or some of a cluster.
    pub named: Vec<ConnectionInfo>,
    /// How the store's servers are spoken to, wherever they are: as which user, and whether over TLS.
    manner: ConnectionInfo,
    /// What each key begins with.
    pub prefix: String,
    /// In how many shards a new store is laid out.
    pub shards: Option<u8>,
    /// How many replicas must have a change before it is acknowledged.
    pub min_replicas: u8,
    /// The address without user and password, for messages.
    pub shown: String,
}

impl Address {
    /// Takes an address apart: `redis://`, `rediss://`, `unix://`, `redis+sentinel://host:port,…/master/db` or
    /// `redis+cluster://host:port,…`, each with its options behind a `?`.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        let parts = Parts::of(text).ok_or_else(|| wrong("it has no `://`"))?;
        parts.check_options()?;
        let prefix = parts.option("prefix").unwrap_or(PREFIX).to_owned();
        if prefix.is_empty()
            || !prefix
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
        {
            return Err(wrong("its prefix may have letters, digits and `-_.:` only"));
        }
        let shards = parts.number("shards")?;
        if shards == Some(0) {
            return Err(wrong("its shards are not a number from 1 to 255"));
        }
        let (topology, named, manner) = parts.servers()?;
        Ok(Self {
            topology,
            named,
            manner,
            prefix,
            shards,
            min_replicas: parts.number("min_replicas")?.unwrap_or(0),
            shown: parts.shown(),
        })
    }

    /// Whether the store's servers are spoken to over TLS.
    pub fn is_secure(&self) -> bool {
        matches!(self.manner.addr(), ConnectionAddr::TcpTls { .. })
    }

    /// The server of the store at that place, as sentinels or a cluster have named it.
    pub fn server_at(&self, host: &str, port: u16) -> ConnectionInfo {
        let mut place = self.manner.addr().clone();
        match &mut place {
            ConnectionAddr::TcpTls {
                host: to_host,
                port: to_port,
                ..
            } => (*to_host, *to_port) = (host.to_owned(), port),
            // Nobody names a socket.
            _ => place = ConnectionAddr::Tcp(host.to_owned(), port),
        }
        self.manner.clone().set_addr(place)
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
            scheme,
            user,
            hosts,
            path,
            query,
        })
    }

    fn options(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let pairs = self.query.split('&').filter(|pair| !pair.is_empty());
        pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
    }

    fn option(&self, name: &str) -> Option<&'a str> {
        self.options().find_map(|(key, value)| (key == name).then_some(value))
    }

    /// A misspelt option would be a promise that nobody keeps.
    fn check_options(&self) -> Result<(), StoreError> {
        let is_known = |name: &str| OURS.contains(&name) || THEIRS.contains(&name);
        match self.options().find(|(name, _)| !is_known(name)) {
            Some((name, _)) => Err(wrong(format_args!(
                "the option `{name}` is not known; there are {}",
                OURS.join(", ")
            ))),
            None => Ok(()),
        }
    }

    fn number(&self, name: &str) -> Result<Option<u8>, StoreError> {
        let number = self.option(name).map(str::parse).transpose();
        number.map_err(|_| wrong(format_args!("its {name} are not a number from 0 to 255")))
    }

    fn shown(&self) -> String {
        format!("{}://{}{}", self.scheme, self.hosts, self.path)
    }

    /// Whether the scheme says TLS.
    fn is_secure(&self) -> bool {
        self.scheme.starts_with("rediss") || self.scheme.starts_with("valkeys")
    }

    /// How the server is found, who is named, and how the store's servers are spoken to.
    fn servers(&self) -> Result<(Topology, Vec<ConnectionInfo>, ConnectionInfo), StoreError> {
        match self.scheme.split_once('+').map(|(_, kind)| kind) {
            Some("sentinel") => self.sentinel(),
            Some("cluster") => {
                let hosts = self.hosts.split(',');
                let nodes = hosts.map(|host| self.at(host, self.user, "", self.is_secure()));
                let nodes: Vec<ConnectionInfo> = nodes.collect::<Result<_, _>>()?;
                let manner = nodes.first().cloned().ok_or_else(|| wrong("it names no server"))?;
                Ok((Topology::Cluster, nodes, manner))
            }
            _ => {
                let theirs = self.options().filter(|(name, _)| THEIRS.contains(name));
                let theirs: Vec<String> = theirs.map(|(name, value)| format!("{name}={value}")).collect();
                let user = self.user.map_or(String::new(), |user| format!("{user}@"));
                let plain = format!(
                    "{}://{user}{}{}?{}",
                    self.scheme,
                    self.hosts,
                    self.path,
                    theirs.join("&")
                );
                let server = self.with_certificates(info_of(plain)?)?;
                Ok((Topology::Single, vec![server.clone()], server))
            }
        }
    }

    fn sentinel(&self) -> Result<(Topology, Vec<ConnectionInfo>, ConnectionInfo), StoreError> {
        let mut path = self.path.trim_matches('/').splitn(2, '/');
        let master = path.next().filter(|name| !name.is_empty());
        let master = master.ok_or_else(|| wrong("it names no master, as in `redis+sentinel://host:26379/mymaster`"))?;
        let database = path.next().map_or(String::new(), |database| format!("/{database}"));
        let is_secure = match self.option("sentinel_tls") {
            None => self.is_secure(),
            Some("yes") => true,
            Some("no") => false,
            Some(_) => return Err(wrong("its `sentinel_tls` is neither `yes` nor `no`")),
        };
        // User and password of the address are the server's; sentinels have their own, if any.
        let (user, password) = (self.option("sentinel_user"), self.option("sentinel_pass"));
        let user = password.map(|password| format!("{}:{password}", user.unwrap_or_default()));
        let sentinels = self.hosts.split(',').map(|host| {
            let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
            let host = if has_port {
                host.to_owned()
            } else {
                format!("{host}:{SENTINEL_PORT}")
            };
            self.at(&host, user.as_deref(), "", is_secure)
        });
        let sentinels = sentinels.collect::<Result<_, _>>()?;
        let manner = self.at("server", self.user, &database, self.is_secure())?;
        let topology = Topology::Sentinel {
            master: master.to_owned(),
        };
        Ok((topology, sentinels, manner))
    }

    fn at(&self, host: &str, user: Option<&str>, path: &str, is_secure: bool) -> Result<ConnectionInfo, StoreError> {
        let scheme = if is_secure { "rediss" } else { "redis" };
        let user = user.map_or(String::new(), |user| format!("{user}@"));
        self.with_certificates(info_of(format!("{scheme}://{user}{host}{path}"))?)
    }

    /// The same with the authority that is trusted and the certificate that is shown, where the address names files.
    fn with_certificates(&self, info: ConnectionInfo) -> Result<ConnectionInfo, StoreError> {
        let file = |name: &str| self.option(name).map(|path| read(name, Path::new(path))).transpose();
        let (root_cert, cert, key) = (file("ca")?, file("cert")?, file("key")?);
        if !matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
            // Sentinels may be asked without; whoever named certificates for a plain server is mistaken.
            if root_cert.is_some() && !self.is_secure() {
                return Err(wrong("it names a `ca`, and its scheme does not say TLS: `rediss://`"));
            }
            return Ok(info);
        }
        let client_tls = match (cert, key) {
            (Some(client_cert), Some(client_key)) => Some(ClientTlsConfig {
                client_cert,
                client_key,
            }),
            (None, None) => None,
            _ => return Err(wrong("`cert` and `key` go together")),
        };
        if root_cert.is_none() && client_tls.is_none() {
            return Ok(info);
        }
        let certificates = TlsCertificates { client_tls, root_cert };
        let client = Client::build_with_tls(info, certificates)
            .map_err(|error| wrong(format_args!("its certificates are not PEM: {error}")))?;
        Ok(client.get_connection_info().clone())
    }
}

fn read(name: &str, path: &Path) -> Result<Vec<u8>, StoreError> {
    std::fs::read(path).map_err(|error| wrong(format_args!("the file of `{name}`, {}: {error}", path.display())))
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
        let master = "mymaster".to_owned();
        assert_eq!(
            (sentinel.topology, sentinel.named.len()),
            (Topology::Sentinel { master }, 2)
        );
        assert_eq!(sentinel.manner.redis_settings().db(), 3);
        let cluster = Address::parse("rediss+cluster://me:secret@a:1,b:2,c:3").expect("an address");
        assert_eq!((&cluster.topology, cluster.named.len()), (&Topology::Cluster, 3));
        assert_eq!(cluster.server_at("d", 4).addr().to_string(), "d:4");
        assert_eq!(cluster.server_at("d", 4).redis_settings().username(), Some("me"));
    }

    #[test]
    fn sentinels_listen_at_their_own_port_and_have_their_own_password() {
        let text = "redis+sentinel://me:secret@a,[::1],b:7/m?sentinel_pass=other";
        let address = Address::parse(text).expect("an address");
        let shown: Vec<String> = address.named.iter().map(|info| info.addr().to_string()).collect();
        assert_eq!(shown, ["a:26379", "::1:26379", "b:7"]);
        assert_eq!(address.named[0].redis_settings().password(), Some("other"));
        assert_eq!(address.manner.redis_settings().password(), Some("secret"));
    }

    #[test]
    fn what_is_no_address_is_refused_without_repeating_its_password() {
        for text in [
            "db:6379",
            "redis+sentinel://a:1",
            "redis://me:secret@db:6379/two",
            "redis://db?shards=0",
            "redis://db?prefix={x}",
            "redis://me:secret@db?shard=12",
            "redis://me:secret@db?min_replicas=many",
            "rediss://me:secret@db?ca=/nowhere/ca.pem",
            "redis+sentinel://me:secret@a/m?sentinel_tls=perhaps",
        ] {
            let error = shown(text).expect_err(text).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
