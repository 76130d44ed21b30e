//! How the servers of a store are set up, all of them together, and what that means for its work.

use std::cmp::Reverse;
use std::sync::Arc;

use futures::future::join_all;
use redis::{ConnectionInfo, Value};

use super::address::Topology;
use super::durability::{Remark, ServerReport, Weight, remark};
use super::find::{self, Node};
use super::link::Link;
use super::settings::pairs;
use super::shard::bytes;
use crate::store::StoreError;

/// The servers of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// Each of them: one, or all masters and replicas of a cluster.
    pub servers: Vec<ServerReport>,
    /// Whether the store is addressed as one on a cluster.
    pub is_cluster: bool,
    /// In how many shards it is laid out.
    pub shards: usize,
    /// How many replicas must have a change before it is acknowledged.
    pub min_replicas: u8,
}

impl Survey {
    /// Asks all of them.
    pub(super) async fn of(link: &Arc<Link>, shards: usize) -> Result<Self, StoreError> {
        let address = link.address();
        let is_cluster = address.topology == Topology::Cluster;
        let servers = if is_cluster {
            let text = bytes(link.command(&find::nodes_question()).await?)?.unwrap_or_default();
            let nodes = find::nodes_of(&String::from_utf8_lossy(&text)).into_iter();
            let places = nodes.map(|Node { host, port }| (format!("{host}:{port}"), address.server_at(&host, port)));
            join_all(places.map(|(place, server)| at(link, place, server))).await
        } else {
            vec![through(link).await?]
        };
        Ok(Self {
            servers,
            is_cluster,
            shards,
            min_replicas: address.min_replicas,
        })
    }

    fn masters(&self) -> usize {
        let answering = self.servers.iter().filter(|server| server.silence.is_none());
        answering.filter(|server| !server.is_replica).count()
    }

    /// The name and version of its servers, and how many there are: `redis 7.0.15, 3 masters and 3 replicas`.
    #[must_use]
    pub fn software(&self) -> String {
        let mut names: Vec<&str> = self.servers.iter().map(|server| server.software.as_str()).collect();
        names.retain(|name| !name.is_empty());
        names.sort_unstable();
        names.dedup();
        let names = names.join(", ");
        if !self.is_cluster {
            return names;
        }
        let replicas = self.servers.iter().filter(|server| server.is_replica).count();
        format!("{names}, {} masters and {replicas} replicas", self.masters())
    }

    /// What is to be said about them, the worst first. What holds for some of them only names those.
    #[must_use]
    pub fn remarks(&self) -> Vec<Remark> {
        let mut of_servers: Vec<(Remark, Vec<&str>)> = Vec::new();
        for server in &self.servers {
            for remark in server.remarks().into_iter().chain(self.of_place(server)) {
                match of_servers.iter_mut().find(|(known, _)| *known == remark) {
                    Some((_, places)) => places.push(&server.place),
                    None => of_servers.push((remark, vec![&server.place])),
                }
            }
        }
        let mut remarks: Vec<Remark> = Vec::new();
        for (mut remark, places) in of_servers {
            if places.len() < self.servers.len() {
                remark.text = format!("{}: {}", places.join(", "), remark.text);
            }
            remarks.push(remark);
        }
        remarks.extend(self.of_shards());
        remarks.sort_by_key(|remark| Reverse(remark.weight));
        remarks
    }

    /// What its place among the others means.
    fn of_place(&self, server: &ServerReport) -> Option<Remark> {
        if server.silence.is_some() {
            return None;
        }
        if !self.is_cluster {
            if server.is_node {
                let text = "it is a node of a cluster, and has only some of the keys: give the address of the cluster, \
                            `redis+cluster://`";
                return Some(remark(Weight::Refusal, text));
            }
            if server.is_replica {
                let text =
                    "it is a replica, which takes no writes: give the address of its master, or of the sentinels";
                return Some(remark(Weight::Refusal, text));
            }
        }
        if server.is_replica {
            return None;
        }
        let (has, wants) = (server.replicas, u32::from(self.min_replicas));
        if has < wants {
            let text = format!(
                "{has} replicas follow it, and the address asks that {wants} have each change (`min_replicas`): it \
                 acknowledges nothing until they do"
            );
            return Some(remark(Weight::Warning, text));
        }
        match (has, wants) {
            (0, _) if self.is_cluster => Some(remark(
                Weight::Warning,
                "no replica follows it: while it is away, nobody has its part of the work",
            )),
            (0, _) => None,
            (_, 0) => Some(remark(
                Weight::Note,
                "a fail-over to a replica may lose the last moments of what was accepted; `min_replicas=1` in the address \
                 waits for a replica first",
            )),
            (_, wants) => Some(remark(
                Weight::Note,
                format!("what it accepted is on {wants} replicas as well, and survives a fail-over to one of them"),
            )),
        }
    }

    fn of_shards(&self) -> Option<Remark> {
        let masters = self.masters();
        let text = format!(
            "it is laid out in {} shards, so that some of the {masters} masters have nothing to do: a new store takes \
             `shards=12` in its address",
            self.shards
        );
        (self.is_cluster && self.shards > 0 && self.shards < masters).then(|| remark(Weight::Note, text))
    }

    /// Whether work may be kept there.
    ///
    /// # Errors
    /// [`StoreError::Unfit`] with what has to change.
    pub fn check(&self) -> Result<(), StoreError> {
        let refusal = self
            .remarks()
            .into_iter()
            .find(|remark| remark.weight == Weight::Refusal);
        match refusal {
            Some(remark) => Err(StoreError::Unfit { message: remark.text }),
            None => Ok(()),
        }
    }

    /// Tells what may be lost, when a store is opened.
    pub(super) fn warn(&self, shown: &str) {
        for Remark { weight, text } in self.remarks() {
            match weight {
                Weight::Refusal | Weight::Warning => tracing::warn!(store = %shown, "the store at {shown}: {text}"),
                Weight::Note => tracing::info!(store = %shown, "the store at {shown}: {text}"),
            }
        }
    }
}

fn info() -> redis::Cmd {
    redis::cmd("INFO")
}

fn config() -> redis::Cmd {
    let mut config = redis::cmd("CONFIG");
    config.arg("GET").arg("*");
    config
}

/// The report of the server at the end of the link, which is waited for as with any call.
async fn through(link: &Arc<Link>) -> Result<ServerReport, StoreError> {
    let text = link.command(&info()).await?;
    // Managed servers do not tell their configuration; what is not known is remarked on.
    let config = link.command(&config()).await.ok();
    read(link.address().shown.clone(), text, config)
}

/// The report of a node, which is asked once.
async fn at(link: &Arc<Link>, place: String, server: ConnectionInfo) -> ServerReport {
    let asked = async move {
        let text = find::ask(server.clone(), &info()).await;
        (text, find::ask(server, &config()).await.ok())
    };
    let report = match link.runtime().spawn(asked).await {
        Ok((Ok(text), config)) => read(place.clone(), text, config).map_err(|error| error.to_string()),
        Ok((Err(trouble), _)) => Err(trouble.to_string()),
        Err(lost) => Err(lost.to_string()),
    };
    report.unwrap_or_else(|why| ServerReport::silent(place, why))
}

fn read(place: String, info: Value, config: Option<Value>) -> Result<ServerReport, StoreError> {
    let info = bytes(info)?.unwrap_or_default();
    let mut report = ServerReport::from_info(place, &String::from_utf8_lossy(&info));
    if let Some(config) = config {
        report.configured(&pairs(config)?.into_iter().collect());
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "redis_version:7.0.15\naof_enabled:1\nmaxmemory_policy:noeviction\n";

    fn server(place: &str, info: &str) -> ServerReport {
        let mut report = ServerReport::from_info(place.to_owned(), &format!("{INFO}{info}"));
        report.syncs = Some("always".to_owned());
        report
    }

    fn survey(is_cluster: bool, min_replicas: u8, servers: Vec<ServerReport>) -> Survey {
        Survey {
            servers,
            is_cluster,
            shards: 1,
            min_replicas,
        }
    }

    fn texts(survey: &Survey, weight: Weight) -> Vec<String> {
        let remarks = survey.remarks().into_iter();
        let of_weight = remarks.filter(|remark| remark.weight == weight);
        of_weight.map(|remark| remark.text).collect()
    }

    #[test]
    fn a_replica_and_a_node_of_a_cluster_are_refused_where_one_server_is_asked_for() {
        for (info, what) in [
            ("role:slave", "its master"),
            ("role:master\ncluster_enabled:1", "redis+cluster://"),
        ] {
            let refused = survey(false, 0, vec![server("a:1", info)]).check();
            let message = refused.expect_err("it cannot be used").to_string();
            assert!(message.contains(what), "{message}");
        }
    }

    #[test]
    fn each_server_of_a_cluster_is_looked_at_and_named_where_it_differs() {
        let follows = server("c:3", "role:slave\ncluster_enabled:1");
        let evicts = server("b:2", "role:slave\ncluster_enabled:1\nmaxmemory_policy:allkeys-lru");
        let leads = server("a:1", "role:master\ncluster_enabled:1\nconnected_slaves:2");
        let cluster = survey(true, 0, vec![leads, evicts, follows]);
        assert_eq!(cluster.software(), "redis 7.0.15, 1 masters and 2 replicas");
        let refused = cluster.check().expect_err("one of them throws work away").to_string();
        assert!(refused.contains("b:2: `maxmemory-policy allkeys-lru`"), "{refused}");
        let silent = ServerReport::silent("d:4".to_owned(), "timed out".to_owned());
        let cluster = survey(true, 0, vec![silent, server("a:1", "role:master\nconnected_slaves:1")]);
        assert_eq!(texts(&cluster, Weight::Warning), ["d:4: it does not answer: timed out"]);
    }

    #[test]
    fn replicas_are_offered_and_missing_ones_told() {
        let of = |replicas: u32, wanted: u8| {
            let servers = vec![server("a:1", &format!("role:master\nconnected_slaves:{replicas}"))];
            survey(false, wanted, servers)
        };
        assert!(texts(&of(1, 0), Weight::Note).concat().contains("`min_replicas=1`"));
        assert!(texts(&of(1, 1), Weight::Note).concat().contains("survives a fail-over"));
        assert!(
            texts(&of(1, 2), Weight::Warning)
                .concat()
                .contains("acknowledges nothing")
        );
        assert!(!texts(&of(0, 0), Weight::Note).concat().contains("min_replicas"));
    }

    #[test]
    fn fewer_shards_than_masters_are_remarked_on() {
        let leads = |place: &str| server(place, "role:master\nconnected_slaves:1");
        let cluster = survey(true, 0, vec![leads("a:1"), leads("b:2")]);
        assert!(texts(&cluster, Weight::Note).concat().contains("`shards=12`"));
    }
}
