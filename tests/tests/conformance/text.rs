//! Whatever a text or a value holds, it is read back as it was written.

use legwork_shared::batch::{Batch, FileRecord, JournalEntry};
use legwork_shared::job::{EventKind, JobResult, Mail, UpdateMode, Verdict};
use legwork_shared::store::{Commit, JobQuery};
use legwork_tests::make::{self, event};
use serde_json::{Value, json};

use crate::world::World;

/// Texts that have broken somebody's storage before.
fn strange_texts() -> Vec<String> {
    let texts = [
        "",
        "\0",
        "a\0b",
        "end\0",
        "\u{1}\u{1f}\u{7f}\u{80}\u{9f}",
        "\u{feff}bom",
        "\u{fffd}\u{fffe}\u{ffff}",
        "\u{1f378}\u{10ffff}",
        "e\u{301}\u{200d}\u{202e}",
        "' OR 1=1 --",
        "\"\\\u{2028}\u{2029}\r\n",
        "%_*?[",
        r"\ud800 \u0000",
    ];
    texts.iter().map(|text| (*text).to_owned()).collect()
}

pub async fn strange_texts_come_back_as_they_were(world: &World) {
    for text in strange_texts() {
        let mut run = world.run();
        run.title.clone_from(&text);
        run.sources = vec![text.clone()];
        let mut spec = make::spec(&text);
        spec.description.clone_from(&text);
        spec.queue.clone_from(&text);
        spec.context = Some(json!({ text.clone(): [text] }));
        let job = world.queued(&run, spec);
        world.submit(&run, std::slice::from_ref(&job), &[]).await;
        assert_eq!(world.job(job.id).await, job);
        assert_eq!(*world.view(run.id).await.run, run);

        let name = Some(text.clone());
        let query = JobQuery {
            run: Some(run.id),
            name,
            limit: 9,
            ..JobQuery::default()
        };
        assert_eq!(
            world.store.jobs(&query).await.unwrap().items,
            std::slice::from_ref(&job),
            "{text:?}"
        );
        let mut request = world.request(1);
        request.queues = vec![text.clone()];
        let claimed = world.store.claim(&request).await.unwrap().remove(0);
        assert_eq!(claimed.job.id, job.id, "{text:?}");
        let result = JobResult {
            text: text.clone(),
            data: Some(json!(text)),
            ..JobResult::default()
        };
        let settled = world.settle(&claimed, Verdict::Succeeded(result.clone())).await;
        assert_eq!(settled, Ok(Commit::Done));
        assert_eq!(world.job(job.id).await.phase.outcome().unwrap().result(), Some(&result));
    }
}

pub async fn strange_texts_come_back_from_logs_and_workspaces(world: &World) {
    let (run, job) = world.submit_one("a").await;
    let mut batch = Batch::at(world.now());
    for (seq, text) in (0..).zip(strange_texts()) {
        batch.journal.push(JournalEntry {
            job: job.id,
            seq,
            attempt: 1,
            at: world.now(),
            entry: json!(text),
        });
        batch.mail.push(Mail {
            id: world.update_id(),
            job: job.id,
            text: text.clone(),
            data: Some(json!({ "k": text })),
            mode: UpdateMode::Enqueue,
            at: world.now(),
        });
        batch.files.push(FileRecord {
            run: run.id,
            path: text.clone(),
            sha256: String::new(),
            size: 0,
            media_type: text.clone(),
            by: job.id,
            at: world.now(),
        });
        batch
            .events
            .push(event(run.id, Some(job.id), EventKind::Cancelled { by: text }));
    }
    let written = batch.clone();
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    let found = world.snapshot(run.id).await;
    assert_eq!(found.journals, written.journal);
    assert_eq!(found.mail, written.mail);
    let events: Vec<_> = found.events.into_iter().skip(2).map(|record| record.event).collect();
    assert_eq!(events, written.events);
    for file in written.files {
        assert_eq!(world.store.file(run.id, &file.path).await, Ok(Some(file)));
    }
}

/// A value as deep as a parser lets in.
fn deep() -> Value {
    const LEVELS: usize = 127;
    let text = format!("{}{}", "[".repeat(LEVELS), "]".repeat(LEVELS));
    serde_json::from_str(&text).unwrap()
}

pub async fn deep_and_exact_values_come_back_as_they_were(world: &World) {
    let numbers = json!([
        u64::MAX,
        i64::MIN,
        0.1,
        1e300,
        5e-324,
        -0.0,
        9_007_199_254_740_993_u64,
        0.300_000_000_000_000_04,
        123_456_789.123_456_78
    ]);
    for value in [deep(), numbers, json!({"z": 1, "a": {"y": 2, "b": null}})] {
        let run = world.run();
        let mut spec = make::spec("a");
        spec.context = Some(value.clone());
        let job = world.queued(&run, spec);
        world.submit(&run, std::slice::from_ref(&job), &[]).await;
        let claimed = world.claim_one().await;
        assert_eq!(claimed.job.spec, job.spec);
        let result = JobResult {
            data: Some(value.clone()),
            ..JobResult::default()
        };
        let settled = world.settle(&claimed, Verdict::Succeeded(result.clone())).await;
        assert_eq!(settled, Ok(Commit::Done));
        let stored = world.job(job.id).await;
        assert_eq!(stored.phase.outcome().unwrap().result(), Some(&result));
        // Not only equal: keys keep their order, so that a prompt made from them is the same.
        let data = stored.phase.outcome().unwrap().result().unwrap().data.clone().unwrap();
        assert_eq!(data.to_string(), value.to_string());
    }
}

pub async fn a_long_text_comes_back_whole(world: &World) {
    let text: String = "0123456789abcdef\0\u{e9}".chars().cycle().take(3 << 20).collect();
    let run = world.run();
    let mut spec = make::spec("a");
    spec.description.clone_from(&text);
    let job = world.queued(&run, spec);
    world.submit(&run, std::slice::from_ref(&job), &[]).await;
    let claimed = world.claim_one().await;
    assert!(claimed.job.spec.description == text);
    let settled = world.settle(&claimed, Verdict::Succeeded(make::result(&text)));
    assert_eq!(settled.await, Ok(Commit::Done));
    assert!(world.job(job.id).await.phase.outcome().unwrap().result().unwrap().text == text);
}
