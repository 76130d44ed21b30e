//! Bad input: each is refused with its code, its place and what to do, and nothing is stored.

use std::os::unix::fs::PermissionsExt as _;

use legwork_tests::harness::{Legwork, Output};
use serde_json::Value;

/// An input that is refused.
struct Refusal {
    /// What the plan file holds.
    plan: &'static [u8],
    code: &'static str,
    /// What the error says of the place.
    place: &'static str,
    /// What it says besides, message or help.
    says: &'static str,
}

const REFUSALS: &[Refusal] = &[
    Refusal {
        plan: b"jobs:\n  - {id: a, description: x}\n  - {id: b, description: \"\xff\"}\n",
        code: "LW0102",
        place: "plan.yaml:3:27",
        says: "0xff",
    },
    Refusal {
        plan: b"jobs:\n  - {id: a, description: x\n",
        code: "LW0103",
        place: "plan.yaml:",
        says: "help",
    },
    Refusal {
        plan: b"jobs:\n  - id: a\n    description: x\n    dependson: [b]\n",
        code: "LW0104",
        place: "plan.yaml:4:5",
        says: "did you mean `depends_on`?",
    },
    Refusal {
        plan: b"jobs:\n  - {id: a, description: [1, 2]}\n",
        code: "LW0105",
        place: "plan.yaml:2",
        says: "help",
    },
    Refusal {
        plan: b"jobs:\n  - {id: a, description: \"  \"}\n",
        code: "LW0106",
        place: "plan.yaml:2:26: jobs[0].description",
        says: "help",
    },
    Refusal {
        plan: b"jobs:\n  - {id: a, description: x}\n  - {id: a, description: y}\n",
        code: "LW0201",
        place: "plan.yaml:3:10: jobs[1].id",
        says: "`a`",
    },
    Refusal {
        plan: b"jobs:\n  - {id: reader, description: x}\n  - {id: b, description: y, depends_on: [raeder]}\n",
        code: "LW0202",
        place: "plan.yaml:3:41: jobs[1].depends_on",
        says: "raeder",
    },
    Refusal {
        plan: b"jobs:\n  - {id: a, description: x, depends_on: [a]}\n",
        code: "LW0203",
        place: "plan.yaml:2:41: jobs[0].depends_on",
        says: "`a`",
    },
    Refusal {
        plan: b"jobs:\n  - {id: a, description: x, depends_on: [c]}\n  - {id: b, description: x, depends_on: [a]}\n  - {id: c, description: x, depends_on: [b]}\n",
        code: "LW0204",
        place: "plan.yaml:2:41: jobs[0].depends_on",
        says: " → ",
    },
    Refusal {
        plan: b"jobs:\n  - {id: \"\", description: x}\n",
        code: "LW0206",
        place: "plan.yaml:2:10: jobs[0].id",
        says: "help",
    },
    Refusal {
        plan: b"jobs:\n  - {id: a, agent: resercher, description: x}\n",
        code: "LW0301",
        place: "plan.yaml:2:20: jobs[0].agent",
        says: "did you mean `researcher`?",
    },
    Refusal {
        plan: b"agents: {mine: {description: d, prompt: p, tools: [serch_docs]}}\njobs:\n  - {id: a, agent: mine, description: x}\n",
        code: "LW0302",
        place: "plan.yaml:1:51: agents.mine.tools",
        says: "did you mean `search_docs`?",
    },
    Refusal {
        plan: b"sources: [nowhere]\njobs:\n  - {id: a, description: x}\n",
        code: "LW0108",
        place: "nowhere",
        says: "help",
    },
];

/// The command was refused as it should be, and nothing was stored.
async fn assert_refused(legwork: &Legwork, output: Output, code: &str, place: &str, says: &str) {
    let output = output.expect_code(2);
    let lines: Vec<&str> = output.stderr.lines().collect();
    assert!(
        lines.iter().any(|line| line.starts_with(&format!("error[{code}]: "))),
        "not {code}: {output}"
    );
    let at = lines
        .iter()
        .find_map(|line| line.strip_prefix("  at "))
        .unwrap_or_default();
    assert!(at.contains(place), "the place is not `{place}`: {output}");
    assert!(
        lines.iter().any(|line| line.starts_with("  help: ")),
        "no help: {output}"
    );
    assert!(output.stderr.contains(says), "it does not say `{says}`: {output}");
    assert_eq!(output.stdout, "", "stdout is for data: {output}");
    assert_eq!(legwork.runs().await.runs, [], "something was stored after {output}");
}

#[tokio::test]
async fn a_plan_that_cannot_be_accepted_is_refused_with_its_place_and_what_to_do() {
    for refusal in REFUSALS {
        let legwork = Legwork::new();
        legwork.write("plan.yaml", refusal.plan);
        let output = legwork.run(&["submit", "plan.yaml"]).await;
        assert_refused(&legwork, output, refusal.code, refusal.place, refusal.says).await;
        // What comes through a pipe is told as exactly as what comes from a file.
        let output = legwork.run_with_stdin(&["submit", "-"], refusal.plan).await;
        let place = refusal.place.replace("plan.yaml", "stdin");
        assert_refused(&legwork, output, refusal.code, &place, refusal.says).await;
    }
}

#[tokio::test]
async fn with_json_the_error_is_one_object_with_the_same_fields() {
    let legwork = Legwork::new();
    legwork.write(
        "plan.yaml",
        "jobs:\n  - id: a\n    description: x\n    dependson: [b]\n",
    );
    let output = legwork.run(&["--json", "submit", "plan.yaml"]).await.expect_code(2);
    let error = output.json_error();
    assert_eq!(
        (&error["code"], &error["place"]),
        (&Value::from("LW0104"), &Value::from("plan.yaml:4:5"))
    );
    assert_eq!(error["help"], "did you mean `depends_on`?");
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|message| message.contains("`dependson`"))
    );
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_refused() {
    let legwork = Legwork::new();
    let output = legwork.run(&["submit", "absent.yaml"]).await;
    assert_refused(&legwork, output, "LW0101", "absent.yaml", "check the path").await;
    legwork.write("folder/file", "x");
    let output = legwork.run(&["run", "--plan", "folder"]).await;
    assert_refused(&legwork, output, "LW0101", "folder", "help").await;
}

#[tokio::test]
async fn a_question_that_is_empty_or_too_long_is_refused() {
    let legwork = Legwork::new();
    legwork.write("docs/a.md", "text");
    let args = ["run", "-", "--sources", "docs"];
    let output = legwork.run_with_stdin(&args, b" \n").await;
    assert_refused(&legwork, output, "LW0106", "the question", "help").await;
    let output = legwork.run_with_stdin(&args, "long ".repeat(300_000).as_bytes()).await;
    assert_refused(&legwork, output, "LW0107", "the question", "1048576").await;
}

#[tokio::test]
async fn sources_that_are_missing_or_empty_are_refused() {
    let legwork = Legwork::new();
    let output = legwork.run(&["run", "Why?", "--sources", "absent"]).await;
    assert_refused(&legwork, output, "LW0108", "absent", "check the path").await;
    std::fs::create_dir(legwork.path("empty")).expect("a folder");
    let output = legwork.run(&["run", "Why?", "--sources", "empty"]).await;
    assert_refused(&legwork, output, "LW0108", "empty", "no file").await;
    let output = legwork.run(&["run", "Why?"]).await.expect_code(2);
    assert!(
        output.stderr.contains("--sources") && output.stderr.contains("OPENAI_API_KEY"),
        "{output}"
    );
}

#[tokio::test]
async fn work_that_could_only_quote_is_refused_where_there_is_nothing_to_quote() {
    let both = ["--sources", "OPENAI_API_KEY"];
    let legwork = Legwork::new();
    for agent in ["researcher", "reviewer"] {
        let output = legwork.run(&["run", "Why?", "--agent", agent]).await;
        for way_out in both {
            assert_refused(&legwork, output.clone(), "LW0108", agent, way_out).await;
        }
    }
    legwork.write(
        "team.yaml",
        "sources: []\njobs:\n  - {id: a, agent: researcher, description: x}\n",
    );
    let output = legwork.run(&["run", "--plan", "team.yaml"]).await;
    for way_out in both {
        assert_refused(&legwork, output.clone(), "LW0108", "researcher", way_out).await;
    }
    let output = legwork.run(&["run", "Why?", "--agent", "coordinator"]).await;
    assert_refused(&legwork, output, "LW0501", "coordinator", "OPENAI_API_KEY").await;
    let output = legwork.run(&["submit", "Why?", "--agent", "resercher"]).await;
    assert_refused(&legwork, output, "LW0301", "--agent", "did you mean `researcher`?").await;

    let quoting = "agents: {mine: {runner: {kind: extractive, role: researcher}}}\njobs:\n  - {id: a, agent: mine, description: x}\n";
    legwork.write("own.yaml", quoting);
    let output = legwork.run(&["submit", "own.yaml"]).await;
    assert_refused(&legwork, output, "LW0108", "agent `mine`", "--sources").await;
    legwork.write("docs/a.md", "text");
    let _ = legwork
        .run(&["submit", "own.yaml", "--sources", "docs"])
        .await
        .success();
}

#[tokio::test]
async fn sources_that_hold_no_text_when_the_work_begins_fail_the_job() {
    let legwork = Legwork::new();
    legwork.write("docs/a.md", "text");
    let plan = "sources: [docs]\nagents: {mine: {runner: {kind: extractive, role: researcher}}}\njobs:\n  - {id: a, agent: mine, description: x}\n";
    legwork.submit(plan).await;
    std::fs::remove_file(legwork.path("docs/a.md")).expect("removed");
    let _ = legwork.run(&["worker", "--once"]).await.success();
    let error = legwork.job("a").await.error.expect("an error");
    assert_eq!(error.code, "no_documents");
}

#[tokio::test]
async fn an_agent_without_a_model_and_a_model_without_its_key_are_refused() {
    let legwork = Legwork::new();
    let output = legwork.run(&["run", "Why?", "--agent", "general-purpose"]).await;
    assert_refused(&legwork, output, "LW0501", "agent `general-purpose`", "OPENAI_API_KEY").await;
    let output = legwork
        .run(&["run", "Why?", "--model", "anthropic:m"])
        .await
        .expect_code(2);
    assert!(
        output.stderr.contains("error[LW0502]") && output.stderr.contains("ANTHROPIC_API_KEY"),
        "{output}"
    );
    assert_eq!(legwork.runs().await.runs, []);
}

#[tokio::test]
async fn a_store_that_is_damaged_or_from_the_future_is_refused_and_left_as_it_is() {
    let legwork = Legwork::in_a_file();
    legwork.write("plan.yaml", "jobs:\n  - {id: a, agent: researcher, description: x}\n");
    let submit = ["submit", "plan.yaml"];
    let _ = legwork.run(&submit).await.success();
    let good = std::fs::read(legwork.store()).expect("the store");

    let noise = b"This is a text and no data base, however long one looks at it.\n".repeat(100);
    std::fs::write(legwork.store(), &noise).expect("damage");
    let output = legwork.run(&submit).await.expect_code(2);
    assert!(output.stderr.contains("error[LW0402]"), "{output}");
    assert!(
        output.stderr.contains("legwork.db") && output.stderr.contains("  help: "),
        "{output}"
    );
    assert_eq!(std::fs::read(legwork.store()).expect("the store"), noise);

    // The version of the schema stands at byte 60 of the file's header.
    let mut newer = good;
    newer[60..64].copy_from_slice(&9_999_u32.to_be_bytes());
    std::fs::write(legwork.store(), newer).expect("a newer store");
    let output = legwork.run(&submit).await.expect_code(2);
    assert!(output.stderr.contains("error[LW0404]"), "{output}");
    assert!(output.stderr.contains("newest legwork"), "{output}");
}

#[tokio::test]
async fn a_store_that_cannot_be_written_is_refused() {
    let elsewhere = Legwork::in_a_file();
    std::fs::create_dir_all(elsewhere.store()).expect("a folder");
    let output = elsewhere.run(&["list"]).await.expect_code(2);
    assert!(
        output.stderr.contains("error[LW0105]: the store is a folder")
            && output.stderr.contains("legwork.db/legwork.db"),
        "{output}"
    );

    let legwork = Legwork::in_a_file();
    legwork.write("plan.yaml", "jobs:\n  - {id: a, agent: researcher, description: x}\n");
    // A file where the folder of the store should be: that stops the superuser too, unlike a permission.
    let folder = legwork.store().parent().expect("a folder");
    std::fs::write(folder, "a file").expect("a file");
    let output = legwork.run(&["submit", "plan.yaml"]).await.expect_code(2);
    assert!(
        output.stderr.contains("error[LW0403]") && output.stderr.contains("  help: "),
        "{output}"
    );
    std::fs::remove_file(folder).expect("removed");

    let _ = legwork.run(&["submit", "plan.yaml"]).await.success();
    std::fs::set_permissions(legwork.store(), std::fs::Permissions::from_mode(0o444)).expect("a permission");
    if std::fs::OpenOptions::new().write(true).open(legwork.store()).is_ok() {
        // The superuser writes anyway.
        return;
    }
    let output = legwork.run(&["submit", "plan.yaml"]).await.expect_code(2);
    assert!(output.stderr.contains("error[LW0403]"), "{output}");
}

#[tokio::test]
async fn arguments_that_mean_nothing_are_refused_with_what_would() {
    let legwork = Legwork::new();
    legwork.write("docs/a.md", "text");
    legwork.write("plan.yaml", "jobs:\n  - {id: a, description: x}\n");
    let output = legwork.run(&["run", "?!", "--sources", "docs"]).await;
    assert_refused(&legwork, output, "LW0106", "the question", "ask in words").await;
    let output = legwork.run(&["submit", "Why?", "--agent", "writer", "--key", ""]).await;
    assert_refused(&legwork, output, "LW0105", "--key", "leave it out").await;
    for command in [
        ["submit", "Why?", "--agent", ""],
        ["run", "Why?", "--agent", ""],
        ["worker", "--once", "--name", ""],
    ] {
        let output = legwork.run(&command).await.expect_code(2);
        assert!(output.stderr.contains("a value is required for"), "{output}");
    }
    let _ = legwork.run(&["submit", "plan.yaml"]).await.success();
    let more = [
        "submit",
        "Why?",
        "--agent",
        "writer",
        "--run",
        "last",
        "--sources",
        "docs",
    ];
    let output = legwork.run(&more).await.expect_code(2);
    assert!(
        output.stderr.contains("error[LW0105]") && output.stderr.contains("at --sources"),
        "{output}"
    );
    assert_eq!(legwork.status().await.jobs.len(), 1);
}

#[tokio::test]
async fn an_odd_id_is_refused_by_every_command_that_takes_one() {
    let legwork = Legwork::new();
    let plan = "agents: {speaker: {runner: {kind: scripted, script: \"turns: [{text: done}]\"}}}\njobs:\n  - {id: a, agent: speaker, description: x}\n  - {id: b, agent: speaker, description: x}\n";
    legwork.submit(plan).await;
    legwork.write("more.yaml", plan);
    let commands: [&[&str]; 10] = [
        &["status"],
        &["watch"],
        &["logs"],
        &["result"],
        &["graph"],
        &["resume"],
        &["retry"],
        &["cancel"],
        &["update", "--data", "1"],
        &["submit", "more.yaml", "--run"],
    ];
    let long = "job_".repeat(50);
    let odd = [
        ("", "LW0601"),
        ("x", "LW0601"),
        ("run_", "LW0602"),
        ("job_", "LW0602"),
        (long.as_str(), "LW0601"),
        ("run_7zzzzzzzzzzzzzzzzzzzzzzzzz", "LW0601"),
        ("upd_01m8", "LW0601"),
    ];
    for command in commands {
        for (reference, code) in odd {
            let output = legwork.run(&[command, &[reference]].concat()).await.expect_code(2);
            assert!(output.stderr.starts_with(&format!("error[{code}]: ")), "{output}");
            assert!(
                output.stderr.contains("  help: ") && output.stderr.len() < 400,
                "{output}"
            );
            assert_eq!(output.stdout, "", "{output}");
        }
    }
    assert_eq!(legwork.runs().await.runs.len(), 1);
    assert!(legwork.status().await.jobs.iter().all(|job| job.updates_waiting == 0));
}

#[tokio::test]
async fn a_wrong_flag_is_refused_with_what_was_meant() {
    let legwork = Legwork::new();
    let output = legwork.run(&["status", "--jsn"]).await.expect_code(2);
    assert!(output.stderr.contains("--json"), "{output}");
    let output = legwork.run(&["--json", "sttus"]).await.expect_code(2);
    assert_eq!(output.json_error()["code"], "LW0105");
    assert_eq!(output.stdout, "");
}
