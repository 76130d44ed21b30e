use super::*;
use legwork_shared::job::{EventKind, UpdateMode};

#[tokio::test]
async fn s45_an_update_before_the_start_joins_the_first_message() {
    let (puppets, puppet) = Puppets::one(vec![says("done")]);
    let world = World::new(puppets);
    let run = world.bench.submit(&plan(vec![agent("worker")])).await;
    let update = world
        .bench
        .update(world.bench.job("job").await.id, UpdateMode::Enqueue)
        .await;
    world.finish().await;
    assert_eq!(
        puppet.requests()[0].messages,
        [Message::User {
            text: "Do it.\n\nlook at 2026 too".to_owned()
        }]
    );
    let events = world.bench.store.events(run, 0, 100).await.unwrap();
    let applied = events
        .iter()
        .find(|event| matches!(event.event.kind, EventKind::UpdateApplied { .. }));
    assert_eq!(
        applied.unwrap().event.kind,
        EventKind::UpdateApplied { update, step: 0 }
    );
}

#[tokio::test]
async fn d11_an_update_while_the_model_answers_is_read_after_the_answer_and_the_answer_to_it_is_the_result() {
    let world = World::new(Puppets::one(vec![]).0);
    world.bench.submit(&plan(vec![agent("worker")])).await;
    let id = world.bench.job("job").await.id;
    let late = Arc::new(tokio::sync::Notify::new());
    let slow = Arc::new(Slow {
        may_go_on: Arc::clone(&late),
        puppet: Puppet::new(vec![says("OLD"), says("NEW")]),
    });
    let workshop = Arc::new(Workshop::new(ToolBox::standard(), ToolLimits::default()));
    let runner = AgentRunner::new(Arc::new(Only(Arc::clone(&slow))), workshop);
    let attempt = world.claim().await.unwrap();
    let updater = async {
        slow.puppet.asked.notified().await;
        world.bench.update(id, UpdateMode::Enqueue).await;
        late.notify_one();
    };
    let (verdict, ()) = tokio::join!(runner.run(&attempt), updater);
    let Verdict::Answered(result) = verdict else {
        panic!("{verdict:?}")
    };
    assert_eq!(result.text, "NEW");
    assert_eq!(
        slow.puppet.requests()[1].messages.last(),
        Some(&Message::User {
            text: "look at 2026 too".to_owned()
        })
    );
}

#[tokio::test]
async fn s45_an_interrupt_aborts_the_call_in_flight() {
    let (puppets, puppet) = Puppets::one(vec![Act::Hang, says("NEW")]);
    let world = World::new(puppets);
    world.bench.submit(&plan(vec![agent("worker")])).await;
    let id = world.bench.job("job").await.id;
    let attempt = world.claim().await.unwrap();
    let interrupter = async {
        puppet.asked.notified().await;
        world.bench.update(id, UpdateMode::Interrupt).await;
        attempt.control().deliver(&world.bench.store.mail(id).await.unwrap());
    };
    let (verdict, ()) = tokio::join!(world.run(&attempt), interrupter);
    let Verdict::Answered(result) = verdict else {
        panic!("{verdict:?}")
    };
    assert_eq!(result.text, "NEW");
    assert_eq!(puppet.requests().len(), 2);
    let usage = attempt.job().usage;
    assert!(
        usage.model_calls == 2 && usage.output_tokens > 8_192,
        "what was aborted counts as spent: {usage:?}"
    );
}

#[tokio::test]
async fn d11_an_update_between_the_last_look_and_the_settle_is_read_by_another_attempt() {
    let (puppets, puppet) = Puppets::one(vec![says("OLD"), says("NEW")]);
    let world = World::new(puppets);
    let run = world.bench.submit(&plan(vec![agent("worker")])).await;
    let attempt = world.claim().await.unwrap();
    let verdict = world.run(&attempt).await;
    // The runner has returned its answer, and nobody has written it yet.
    let update = world.bench.update(attempt.token().job, UpdateMode::Enqueue).await;
    assert_eq!(
        attempt.settle(verdict).await,
        Ok(crate::attempt::Settled::As(JobState::Queued))
    );
    world.finish().await;
    let job = world.bench.job("job").await;
    assert_eq!(
        (result_of(&job).text.as_str(), job.attempt, job.failures),
        ("NEW", 2, 0)
    );
    let told = |text: &str| Message::User { text: text.to_owned() };
    let second = &puppet.requests()[1].messages;
    assert_eq!(second.first(), Some(&told("Do it.")));
    assert_eq!(
        second.last(),
        Some(&told("look at 2026 too")),
        "the conversation goes on"
    );
    let events = world.bench.store.events(run, 0, 100).await.unwrap();
    let kinds = events.into_iter().map(|event| event.event.kind);
    let of_update: Vec<EventKind> = kinds
        .filter(|kind| matches!(kind, EventKind::UpdateApplied { .. } | EventKind::UpdatesUnread { .. }))
        .collect();
    assert_eq!(of_update, [EventKind::UpdateApplied { update, step: 1 }]);
}

#[tokio::test]
async fn a_retry_by_a_person_goes_on_with_the_conversation() {
    let Act::Reply(mut filtered) = says("I cannot.") else {
        panic!()
    };
    filtered.stop = StopReason::ContentFilter;
    let (puppets, puppet) = Puppets::one(vec![Act::Reply(filtered), says("Now I can.")]);
    let world = World::new(puppets);
    world.bench.submit(&plan(vec![agent("worker")])).await;
    world.finish().await;
    let job = world.bench.job("job").await;
    assert_eq!(error_of(&job).code, "content_filtered");
    let retry = Command::Retry {
        by: "test".to_owned(),
        unmet: false,
    };
    world.bench.command(job.id, &retry).await;
    world.finish().await;
    assert_eq!(result_of(&world.bench.job("job").await).text, "Now I can.");
    assert!(format!("{:?}", puppet.requests()[1].messages).contains("taken up again"));
}

/// A model that answers only when it may, the first time.
struct Slow {
    may_go_on: Arc<tokio::sync::Notify>,
    puppet: Arc<Puppet>,
}

#[async_trait]
impl ChatModel for Slow {
    async fn chat(
        &self,
        request: &ModelRequest,
        on_delta: &(dyn for<'a> Fn(Delta<'a>) + Send + Sync),
    ) -> Result<ModelReply, ModelError> {
        let is_first = self.puppet.requests().is_empty();
        let reply = self.puppet.chat(request, on_delta).await;
        if is_first {
            self.may_go_on.notified().await;
        }
        reply
    }
}

struct Only(Arc<Slow>);

impl FindModel for Only {
    fn find(&self, _name: Option<&str>) -> Result<FoundModel, ModelConfigError> {
        Ok(FoundModel {
            chat: Arc::<Slow>::clone(&self.0),
            name: "slow".to_owned(),
            price: None,
        })
    }
}
