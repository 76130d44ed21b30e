//! What people type where an id is wanted.

use legwork_shared::fault::Code;
use legwork_shared::id::{JobId, UpdateId, WorkerId};

use super::Target;
use crate::testing::{START, World, id_of};

#[tokio::test]
async fn find_takes_ids_beginnings_names_and_last() {
    let world = World::new();
    let submitted = world
        .submit("jobs: [{id: a, description: x}, {id: b, description: x}]")
        .await;
    let (run, a) = (submitted.run, id_of(&submitted, "a"));
    for reference in ["last".to_owned(), run.to_string(), run.to_string()[..12].to_owned()] {
        assert_eq!(
            world.coordinator.find(&reference).await,
            Ok(Target::Run(run)),
            "{reference}"
        );
    }
    for reference in [a.to_string(), format!("{run}/a"), "last/a".to_owned(), "a".to_owned()] {
        let found = world.coordinator.find(&reference).await;
        assert_eq!(found, Ok(Target::Job(a)), "{reference}");
    }
    let fault = |reference: &'static str| {
        let coordinator = world.coordinator.clone();
        async move { coordinator.find(reference).await.expect_err("not found").code }
    };
    assert_eq!(fault("job_0").await, Code::AmbiguousId);
    assert_eq!(fault("job_zzz").await, Code::UnknownId);
    assert_eq!(fault("é/🍸").await, Code::UnknownId);
    assert_eq!(
        world
            .coordinator
            .find_job(&run.to_string())
            .await
            .expect_err("two jobs")
            .code,
        Code::AmbiguousId
    );
}

#[tokio::test]
async fn odd_ids_are_refused_each_with_the_code_that_fits() {
    let empty = World::new();
    let world = World::new();
    let run = world.submit("jobs: [{id: a, description: x}]").await.run;
    let long = "z".repeat(200);
    let refused = [
        ("", Code::UnknownId),
        (" ", Code::UnknownId),
        ("run_", Code::AmbiguousId),
        ("job_", Code::AmbiguousId),
        ("RUN_", Code::AmbiguousId),
        ("run_/a", Code::AmbiguousId),
        ("job_/", Code::AmbiguousId),
        ("x", Code::UnknownId),
        ("_", Code::UnknownId),
        ("/", Code::UnknownId),
        ("last/", Code::UnknownId),
        ("last/a/", Code::UnknownId),
        ("//a", Code::UnknownId),
        ("run_%", Code::UnknownId),
        ("run_é", Code::UnknownId),
        (long.as_str(), Code::UnknownId),
        ("wrk_01m8", Code::UnknownId),
    ];
    for (reference, code) in refused {
        for world in [&world, &empty] {
            let fault = world.coordinator.find(reference).await.expect_err(reference);
            assert_eq!(fault.code, code, "{reference}: {fault}");
            assert!(fault.to_string().len() < 300, "{fault}");
        }
    }
    let foreign = [
        JobId::new(START, 77).to_string(),
        WorkerId::new(START, 5).to_string(),
        UpdateId::new(START, 5).to_string(),
        format!("{run}0"),
    ];
    for reference in foreign {
        let fault = world.coordinator.find(&reference).await.expect_err("not there");
        assert_eq!(fault.code, Code::UnknownId, "{reference}");
    }
    let shouted = run.to_string().to_uppercase();
    assert_eq!(world.coordinator.find(&shouted).await, Ok(Target::Run(run)));
    assert_eq!(world.coordinator.find(&shouted[4..]).await, Ok(Target::Run(run)));
}

#[tokio::test]
async fn the_last_parts_of_a_name_are_enough_where_only_one_job_has_them() {
    let world = World::new();
    let names = "boss/researcher boss/helper boss/helper/deep aide/helper researcher2";
    let jobs: Vec<String> = names
        .split(' ')
        .map(|name| format!("{{id: {name}, description: x}}"))
        .collect();
    let submitted = world.submit(&format!("jobs: [{}]", jobs.join(", "))).await;
    let run = submitted.run;
    let found = |name| Ok(Target::Job(id_of(&submitted, name)));
    for (reference, name) in [
        ("last/researcher", "boss/researcher"),
        ("researcher", "boss/researcher"),
        ("boss/researcher", "boss/researcher"),
        ("last/deep", "boss/helper/deep"),
        ("helper/deep", "boss/helper/deep"),
        ("last/boss/helper", "boss/helper"),
    ] {
        assert_eq!(world.coordinator.find(reference).await, found(name), "{reference}");
    }
    let by_id = world.coordinator.find(&format!("{run}/researcher")).await;
    assert_eq!(by_id, found("boss/researcher"));

    let fault = world.coordinator.find("last/helper").await.expect_err("two have it");
    assert_eq!(
        fault.to_string(),
        "LW0602: more than one job of the run is called `helper`; name one of them: last/boss/helper, last/aide/helper"
    );
    for part in ["last/search", "last/esearcher", "last/boss"] {
        let fault = world.coordinator.find(part).await.expect_err("no whole part");
        assert_eq!(fault.code, Code::UnknownId, "{part}");
    }
}
