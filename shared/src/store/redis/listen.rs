//! How this process learns of the changes of others.

use std::sync::Arc;

use futures::StreamExt;
use tokio::sync::oneshot;

use super::committer::News;
use super::fault::Trouble;
use super::link::{Link, pauses};
use crate::store::StoreError;

/// Listens from now on, and for as long as the link's runtime lives.
///
/// # Errors
/// The server does not let this process listen.
pub(super) async fn start(link: &Arc<Link>, news: &News) -> Result<(), StoreError> {
    let (listening, listens) = oneshot::channel();
    let (task_link, news) = (link.clone(), news.clone());
    link.runtime()
        .spawn(async move { listen(task_link, news, listening).await });
    listens.await.unwrap_or_else(|_| {
        Err(StoreError::Unavailable {
            message: "it is being closed".to_owned(),
        })
    })
}

async fn listen(link: Arc<Link>, news: News, listening: oneshot::Sender<Result<(), StoreError>>) {
    let mut listening = Some(listening);
    let mut wait = pauses();
    loop {
        let subscribed = async {
            let mut listener = link.listener().await?;
            let subscribed = listener.subscribe(&*news.channel).await;
            subscribed.map_err(|error| Trouble::of(&error))?;
            Ok::<_, Trouble>(listener)
        };
        match subscribed.await {
            Ok(mut listener) => {
                wait = pauses();
                match listening.take() {
                    Some(first) => drop(first.send(Ok(()))),
                    // What happened while nobody listened was missed.
                    None => news.tell(),
                }
                let mut messages = listener.on_message();
                while let Some(message) = messages.next().await {
                    if message.get_payload_bytes() != news.voice {
                        news.tell();
                    }
                }
            }
            Err(Trouble::Fatal(error)) => {
                if let Some(first) = listening.take() {
                    drop(first.send(Err(error)));
                    return;
                }
            }
            Err(_) => {}
        }
        if let Some(pause) = wait.next() {
            tokio::time::sleep(pause).await;
        }
    }
}
