//! What a server does with work: whether it keeps it, and what it may lose.

use std::collections::HashMap;

use serde::Serialize;

/// The oldest version that has all commands that the engine uses.
const VERSION_MIN: (u32, u32) = (6, 2);
/// From this share of its memory on, a server is nearly full, in percent.
const NEARLY_FULL_PERCENT: u64 = 85;

/// How a server is set up, as far as it says. Managed servers hide some of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ServerReport {
    /// Where it is: `10.0.0.7:6379`.
    pub place: String,
    /// Its name and version: `redis 7.0.15`.
    pub software: String,
    /// The version of the protocol and commands.
    pub version: (u32, u32),
    /// Whether it is a replica, which takes no writes.
    pub is_replica: bool,
    /// Whether it is a node of a cluster.
    pub is_node: bool,
    /// Whether each change goes to the append-only file.
    pub appends: Option<bool>,
    /// How often that file is brought to disk: `always`, `everysec`, `no`.
    pub syncs: Option<String>,
    /// When snapshots are made, as configured; empty means never.
    pub snapshots: Option<String>,
    /// What is thrown away when memory is full.
    pub eviction: Option<String>,
    /// How much memory it may use, in bytes; zero means all there is.
    pub memory_max_bytes: u64,
    /// How much it uses.
    pub memory_used_bytes: u64,
    /// Whether the last write of its files went well.
    pub writes_well: bool,
    /// How many replicas follow it.
    pub replicas: u32,
    /// Why it does not answer, if it does not.
    pub silence: Option<String>,
}

/// What a fact about the server means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Good to know.
    Note,
    /// Work may be lost in a case that the sentence names.
    Warning,
    /// Work would be lost: the store is not opened.
    Refusal,
}

/// One sentence about a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// What it means.
    pub weight: Weight,
    /// The sentence: lower case, no full stop.
    pub text: String,
}

pub(super) fn remark(weight: Weight, text: impl Into<String>) -> Remark {
    Remark {
        weight,
        text: text.into(),
    }
}

impl ServerReport {
    /// What its `INFO` says.
    pub(super) fn from_info(place: String, info: &str) -> Self {
        let fields: HashMap<&str, &str> = info.lines().filter_map(|line| line.trim().split_once(':')).collect();
        let text = |name: &str| fields.get(name).copied().unwrap_or_default();
        let number = |name: &str| text(name).parse::<u64>().unwrap_or(0);
        let (name, shown) = match text("valkey_version") {
            "" => ("redis", text("redis_version")),
            version => ("valkey", version),
        };
        let mut version = text("redis_version").split('.').map(|part| part.parse().unwrap_or(0));
        let is_well = |name: &str| matches!(text(name), "" | "ok");
        Self {
            place,
            software: format!("{name} {shown}"),
            version: (version.next().unwrap_or(0), version.next().unwrap_or(0)),
            is_replica: text("role") == "slave",
            is_node: text("cluster_enabled") == "1",
            appends: fields.get("aof_enabled").map(|flag| *flag == "1"),
            syncs: None,
            snapshots: None,
            eviction: fields.get("maxmemory_policy").map(|policy| (*policy).to_owned()),
            memory_max_bytes: number("maxmemory"),
            memory_used_bytes: number("used_memory"),
            writes_well: is_well("aof_last_write_status") && is_well("rdb_last_bgsave_status"),
            replicas: u32::try_from(number("connected_slaves")).unwrap_or(u32::MAX),
            silence: None,
        }
    }

    /// The report of a server that does not answer.
    pub(super) fn silent(place: String, why: String) -> Self {
        Self {
            place,
            writes_well: true,
            silence: Some(why),
            ..Self::default()
        }
    }

    /// Adds what its `CONFIG GET` says.
    pub(super) fn configured(&mut self, config: &HashMap<String, String>) {
        self.syncs = config.get("appendfsync").cloned();
        self.snapshots = config.get("save").cloned();
    }

    /// What is to be said about the server, the worst first.
    #[must_use]
    pub fn remarks(&self) -> Vec<Remark> {
        if let Some(why) = &self.silence {
            return vec![remark(Weight::Warning, format!("it does not answer: {why}"))];
        }
        let mut remarks: Vec<Remark> = [
            self.of_version(),
            self.of_eviction(),
            Some(self.of_persistence()),
            self.of_memory(),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !self.writes_well {
            remarks.push(remark(
                Weight::Warning,
                "its last write to disk failed: see its log, and whether its disk is full",
            ));
        }
        remarks.sort_by_key(|remark| std::cmp::Reverse(remark.weight));
        remarks
    }

    fn of_version(&self) -> Option<Remark> {
        let (major, minor) = VERSION_MIN;
        let text = format!(
            "{} is too old: {major}.{minor} is the first that will do",
            self.software
        );
        (self.version < VERSION_MIN).then(|| remark(Weight::Refusal, text))
    }

    fn of_eviction(&self) -> Option<Remark> {
        match self.eviction.as_deref() {
            Some("noeviction") => None,
            // These touch only keys that expire, and no record does.
            Some(policy) if policy.starts_with("volatile") => {
                let text =
                    format!("`maxmemory-policy {policy}` may forget which calls were answered: set it to `noeviction`");
                Some(remark(Weight::Warning, text))
            }
            Some(policy) => {
                let text = format!(
                    "`maxmemory-policy {policy}` throws accepted work away when memory is full: set it to `noeviction`"
                );
                Some(remark(Weight::Refusal, text))
            }
            None => Some(remark(
                Weight::Note,
                "it does not say what it does when its memory is full; it must be `noeviction`",
            )),
        }
    }

    fn of_persistence(&self) -> Remark {
        let has_snapshots = self.snapshots.as_deref().is_some_and(|rules| !rules.is_empty());
        match (self.appends, self.syncs.as_deref()) {
            (Some(true), Some("always")) => remark(Weight::Note, "what it accepted survives a crash of the machine"),
            (Some(true), Some("everysec")) => remark(
                Weight::Note,
                "a crash of its process loses nothing; a power failure may lose the last second of what it accepted \
                 (`appendfsync everysec`)",
            ),
            (Some(true), Some("no")) => remark(
                Weight::Warning,
                "a power failure may lose the last half minute of what it accepted: set `appendfsync everysec`",
            ),
            (Some(true), _) => remark(
                Weight::Note,
                "it keeps an append-only file; how much a power failure may lose, it does not say",
            ),
            (Some(false), _) if has_snapshots => remark(
                Weight::Warning,
                "a crash loses what it accepted since its last snapshot, often minutes: set `appendonly yes`",
            ),
            (Some(false), _) => remark(
                Weight::Warning,
                "it keeps all work in memory alone, and a restart loses it: set `appendonly yes`",
            ),
            (None, _) => remark(Weight::Note, "it does not say whether it keeps work on disk"),
        }
    }

    fn of_memory(&self) -> Option<Remark> {
        if self.memory_max_bytes == 0 {
            return None;
        }
        let percent = self.memory_used_bytes.saturating_mul(100) / self.memory_max_bytes;
        let text = format!("it uses {percent} % of the memory it may use: at 100 % it takes no more work");
        (percent >= NEARLY_FULL_PERCENT).then(|| remark(Weight::Warning, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(info: &str, config: &[(&str, &str)]) -> Vec<(Weight, String)> {
        let common = "redis_version:7.0.15\r\nrole:master\r\naof_enabled:1\r\nmaxmemory_policy:noeviction\r\n";
        let mut report = ServerReport::from_info("db:6379".to_owned(), &format!("{common}{info}"));
        let pairs = config
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        report.configured(&pairs.collect());
        let remarks = report.remarks().into_iter();
        remarks.map(|remark| (remark.weight, remark.text)).collect()
    }

    #[test]
    fn a_server_that_keeps_everything_gets_a_note() {
        let text = "what it accepted survives a crash of the machine".to_owned();
        assert_eq!(report("", &[("appendfsync", "always")]), [(Weight::Note, text)]);
    }

    #[test]
    fn a_server_that_would_lose_work_is_refused() {
        for (info, what) in [
            ("maxmemory_policy:allkeys-lru", "noeviction"),
            ("redis_version:6.0.20", "6.2"),
        ] {
            let remarks = report(info, &[("appendfsync", "everysec")]);
            assert_eq!(remarks[0].0, Weight::Refusal, "{info}");
            assert!(remarks[0].1.contains(what), "{remarks:?}");
        }
    }

    #[test]
    fn a_server_that_may_lose_work_is_warned_about() {
        for (info, config) in [
            ("aof_enabled:0", ("save", "3600 1")),
            ("aof_enabled:0", ("save", "")),
            ("", ("appendfsync", "no")),
            ("maxmemory:100\r\nused_memory:90", ("appendfsync", "always")),
            ("aof_last_write_status:err", ("appendfsync", "always")),
        ] {
            assert_eq!(report(info, &[config])[0].0, Weight::Warning, "{info} {config:?}");
        }
    }
}
