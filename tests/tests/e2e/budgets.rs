//! Budgets: what cannot be paid for is not begun.

use legwork_shared::job::{FailReason, JobState};
use legwork_tests::harness::Legwork;
use legwork_tests::model_server::{ModelServer, Script, Turn};

use crate::team::{KEY, QUESTION, WIRES, turn};

#[tokio::test]
async fn s58_a_call_that_the_budget_cannot_pay_for_is_not_made() {
    for wire in WIRES {
        let server = ModelServer::start(Script::always(Turn::text("dear"))).await;
        let legwork = Legwork::new().with_model(&server, wire, KEY);
        let args = ["run", QUESTION, "--agent", "researcher", "--budget-tokens", "20"];
        let output = legwork.run(&args).await.expect_code(1);
        assert!(output.stderr.contains("budget"), "{output}");
        assert_eq!(server.count(), 0);
        let job = legwork.job("researcher").await;
        let reason = job.error.map(|error| error.reason);
        assert_eq!((job.state, reason), (JobState::Failed, Some(FailReason::Budget)));
    }
}

#[tokio::test]
async fn s58_a_run_has_no_more_jobs_than_it_may_and_the_coordinator_is_told() {
    for wire in WIRES {
        let server = ModelServer::start(Script::by(turn).strict()).await;
        let legwork = Legwork::new().with_model(&server, wire, KEY);
        legwork.write("docs/a.md", "Recall is high.");
        // Its own and two of the four that it hands out.
        let args = ["run", QUESTION, "--sources", "docs", "--max-jobs", "3"];
        let report = legwork.run(&args).await.success();
        assert!(report.starts_with("The team is done. Missing: ["), "{report}");
        assert!(legwork.status().await.jobs.len() <= 3);
    }
}
