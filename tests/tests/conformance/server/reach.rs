//! The ways to a server: a socket, TLS, a user with few rights, another program of the kind; and what is told when the way
//! is wrong.

use std::path::Path;
use std::sync::Arc;

use legwork_shared::store::StoreError;
use legwork_shared::store::redis::{RedisOptions, RedisStore};
use legwork_tests::certificates::Certificates;
use legwork_tests::engine::{Engine, open_server};
use legwork_tests::harness::repository;
use legwork_tests::redis_cluster::RedisCluster;
use legwork_tests::redis_server::RedisServer;

use super::refusal;
use crate::world::{Spread, World};

/// Runs a job through the store at that address: submit, wake-up, claim, lease, end, news of all of it.
async fn works(address: &str) {
    let mut world = World::on(Engine::Memory).await;
    world.store = Arc::new(open_server(address, world.clock.clone()).await.unwrap());
    let mut changes = world.store.changes();
    let mut signal = world.store.work_signal(&world.request(1).queues);
    signal.arm();
    let (run, job) = world.submit_one("a").await;
    signal.wait().await;
    let claimed = world.claim_one().await;
    let token = legwork_tests::make::token(&claimed.job);
    let held = world.store.extend(&[token], world.now() + 60_000).await.unwrap();
    assert!(held[0].held);
    world.succeed(&claimed).await;
    assert_eq!(world.job(job.id).await.run, run.id);
    assert!(!world.log(run.id).await.is_empty());
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
}

/// It is refused as a mistake, in words.
async fn is_told(address: &str, words: &str) {
    let error = refusal(address).await;
    assert!(matches!(error, StoreError::Unfit { .. }), "{address}: {error:?}");
    let told = error.to_string();
    assert!(told.contains(words), "{address}: {told}");
    assert!(!told.contains("secret"), "{told}");
}

/// It is told as an outage, with what may be the mistake.
async fn may_be(address: &str, words: &str) {
    let error = refusal(address).await;
    assert!(matches!(error, StoreError::Unavailable { .. }), "{address}: {error:?}");
    assert!(error.to_string().contains(words), "{address}: {error}");
}

/// A server that speaks nothing but TLS at its port.
fn with_tls(certificates: &Certificates, clients: &str) -> RedisServer {
    let shown = |path: &Path| path.display().to_string();
    let (certificate, key) = certificates.certificate();
    let start = |port: u16| {
        let words = [
            "--port".to_owned(),
            "0".to_owned(),
            "--tls-port".to_owned(),
            port.to_string(),
            "--tls-cert-file".to_owned(),
            shown(&certificate),
            "--tls-key-file".to_owned(),
            shown(&key),
            "--tls-ca-cert-file".to_owned(),
            shown(&certificates.authority()),
            "--bind".to_owned(),
            "127.0.0.1".to_owned(),
            "127.0.0.2".to_owned(),
            "--tls-auth-clients".to_owned(),
            clients.to_owned(),
        ];
        words.into()
    };
    RedisServer::start_at_port(start).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_a_socket_by_each_of_its_names() {
    let server = RedisServer::start().unwrap();
    for (prefix, scheme) in [("a", "unix"), ("b", "redis+unix"), ("c", "valkey+unix")] {
        works(&format!(
            "{scheme}://{}?prefix={prefix}&db=3",
            server.socket().display()
        ))
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls_with_an_authority_of_ones_own() {
    let (ours, others) = (Certificates::make().unwrap(), Certificates::make().unwrap());
    let server = with_tls(&ours, "no");
    let port = server.port();
    let (right, wrong) = (ours.authority(), others.authority());
    for host in ["127.0.0.1", "localhost"] {
        works(&format!("rediss://{host}:{port}?prefix={host}&ca={}", right.display())).await;
    }
    let wrong = format!("rediss://:secret@127.0.0.1:{port}?ca={}", wrong.display());
    is_told(&wrong, "its certificate is not trusted (UnknownIssuer)").await;
    is_told(&format!("rediss://127.0.0.1:{port}"), "`?ca=FILE`").await;
    is_told(
        &format!("rediss://127.0.0.2:{port}?ca={}", right.display()),
        "not trusted",
    )
    .await;
    is_told(&format!("redis://127.0.0.1:{port}?ca={}", right.display()), "rediss://").await;
    // Without TLS the server hangs up, and a plain one waits: so does one that is being started.
    may_be(&format!("redis://127.0.0.1:{port}"), "begins with `rediss://`").await;
    let server = RedisServer::start_at_port(|_| Vec::new()).unwrap();
    let plain = format!("rediss://127.0.0.1:{}?ca={}", server.port(), right.display());
    may_be(&plain, "begins with `redis://`").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls_with_a_certificate_of_the_client() {
    let certificates = Certificates::make().unwrap();
    let server = with_tls(&certificates, "yes");
    let (certificate, key) = certificates.certificate();
    let bare = format!(
        "rediss://127.0.0.1:{}?ca={}",
        server.port(),
        certificates.authority().display()
    );
    works(&format!("{bare}&cert={}&key={}", certificate.display(), key.display())).await;
    is_told(&bare, "`?cert=FILE&key=FILE`").await;
    is_told(&format!("{bare}&cert={}", certificate.display()), "go together").await;
}

/// The line of the configuration that is shipped, with another password.
fn user_line() -> String {
    let shipped = std::fs::read_to_string(repository().join("ops/redis/redis.conf")).unwrap();
    let line = shipped.lines().find_map(|line| line.strip_prefix("# user legwork "));
    line.unwrap().replace(">change-me", ">secret")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_a_user_who_may_do_what_is_needed_and_nothing_more() {
    let server = RedisServer::start().unwrap();
    server.tell(&format!("ACL SETUSER legwork {}", user_line())).unwrap();
    let address = |rest: &str| format!("unix://{}?user=legwork&{rest}", server.socket().display());
    works(&address("pass=secret")).await;
    works(&address("pass=secret&prefix=lw-two")).await;
    is_told(&address("pass=secret-and-wrong"), "refuses the user or the password").await;
    // Keys of others are not his.
    is_told(&address("pass=secret&prefix=other"), "may not do what is needed").await;
    for command in [
        "FLUSHALL",
        "KEYS *",
        "CONFIG SET maxmemory 1",
        "SHUTDOWN",
        "ACL LIST",
        "GET other",
    ] {
        let refused = server.ask_as("legwork", "secret", command).unwrap_err();
        assert_eq!(refused.code(), Some("NOPERM"), "{command}: {refused}");
    }
    // Take any one right away, and the store says which is missing.
    server.tell("ACL SETUSER legwork -evalsha").unwrap();
    is_told(&address("pass=secret"), "evalsha").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_that_user_of_a_cluster() {
    let cluster = RedisCluster::start().unwrap();
    for node in cluster.nodes() {
        node.tell(&format!("ACL SETUSER legwork {}", user_line())).unwrap();
    }
    let address = cluster
        .address("lw")
        .replace("redis+cluster://", "redis+cluster://legwork:secret@");
    works(&address).await;
    is_told(
        &address.replace(":secret@", ":secrets@"),
        "refuses the user or the password",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_that_is_wrong_or_missing_is_told() {
    let server = RedisServer::start_at_port(|_| ["--requirepass", "secret"].map(str::to_owned).into()).unwrap();
    let port = server.port();
    works(&format!("redis://:secret@127.0.0.1:{port}")).await;
    is_told(
        &format!("redis://:secrets@127.0.0.1:{port}"),
        "refuses the user or the password",
    )
    .await;
    is_told(&format!("redis://127.0.0.1:{port}"), "asks for a password").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_and_a_cluster_are_told_apart() {
    let server = RedisServer::start_at_port(|_| Vec::new()).unwrap();
    is_told(
        &format!("redis+cluster://127.0.0.1:{}", server.port()),
        "it is no cluster",
    )
    .await;
    let cluster = RedisCluster::start().unwrap();
    let node = format!("redis://127.0.0.1:{}", cluster.master(0).port());
    is_told(&node, "redis+cluster://").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_base_that_is_not_there_is_told() {
    let server = RedisServer::start().unwrap();
    is_told(&format!("unix://{}?db=99", server.socket().display()), "out of range").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_holds_on_valkey() {
    let world = World::on(Engine::Valkey).await;
    let options = RedisOptions::default();
    let store = RedisStore::open(&world.server().address("lw"), options).await.unwrap();
    let software = store.survey().await.unwrap().software();
    assert!(software.starts_with("valkey "), "{software}");
    crate::every_case(world, Spread::Together, &[]).await;
}
