//! From a request to its answer: the script decides, this sends, as badly as the script wants it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, State};
use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::serve::IncomingStream;
use futures::{Stream, stream};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::asked::{Asked, Wire};
use super::frame::Frame;
use super::recorded::{Outcome, Record, Recorded};
use super::script::{Cut, Fault, Turn};
use super::{Shared, anthropic, openai, strict};

/// How long a reset waits, so that the events before it are on their way.
const RESET_PAUSE: Duration = Duration::from_millis(5);

/// The connection of a request, to reset it.
#[derive(Debug, Clone)]
pub(super) struct Socket(Arc<io::Result<OwnedFd>>);

impl Connected<IncomingStream<'_, TcpListener>> for Socket {
    fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Self {
        Self(Arc::new(stream.io().as_fd().try_clone_to_owned()))
    }
}

impl Socket {
    /// Makes the connection end with a reset instead of an orderly close.
    fn reset_on_close(&self) -> io::Result<()> {
        let fd = self
            .0
            .as_ref()
            .as_ref()
            .map_err(|error| io::Error::from(error.kind()))?
            .try_clone()?;
        TcpStream::from_std(std::net::TcpStream::from(fd))?.set_zero_linger()
    }
}

/// Settles a request when its answer is dropped: by then all of it was sent, or the client went away.
struct Settle {
    record: Arc<Record>,
    place: usize,
}

impl Drop for Settle {
    fn drop(&mut self) {
        self.record.settle(self.place, Outcome::ClientLeft);
    }
}

impl Settle {
    fn sent(&self) {
        self.record.settle(self.place, Outcome::Sent);
    }
}

pub(super) async fn chat_completions(
    State(shared): State<Shared>,
    ConnectInfo(socket): ConnectInfo<Socket>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    answer(Wire::OpenAi, "/v1/chat/completions", &shared, socket, &headers, &body).await
}

pub(super) async fn messages(
    State(shared): State<Shared>,
    ConnectInfo(socket): ConnectInfo<Socket>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    answer(Wire::Anthropic, "/v1/messages", &shared, socket, &headers, &body).await
}

async fn answer(
    wire: Wire,
    path: &str,
    shared: &Shared,
    socket: Socket,
    headers: &HeaderMap,
    body: &[u8],
) -> Response<Body> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let asked = Asked::read(wire, &body);
    let refusal = if shared.script.strict {
        strict::refusal(&asked)
    } else {
        None
    };
    let found = match refusal {
        Some(refusal) => Err(refusal),
        None => shared
            .script
            .turn(&asked)
            .ok_or_else(|| "no rule of the script matches".to_owned()),
    };
    let place = shared.record.add(Recorded {
        at: Record::now(),
        path: path.to_owned(),
        wire,
        headers: headers
            .iter()
            .map(|(name, value)| (name.to_string(), shown(value)))
            .collect(),
        body,
        turn: asked.turn,
        agent: found.as_ref().ok().and_then(|(_, agent)| agent.clone()),
        outcome: Outcome::InFlight,
    });
    let settle = Settle {
        record: shared.record.clone(),
        place,
    };
    match found {
        Err(why) => {
            settle.sent();
            json_response(StatusCode::BAD_REQUEST, &error(wire, 400, &why))
        }
        Ok((turn, _)) => {
            pause(turn.delay_ms, &shared.stopping).await;
            if let Some(gate) = &turn.gate {
                tokio::select! {
                    () = gate.opened() => {}
                    () = shared.stopping.cancelled() => {}
                }
            }
            send(&asked, &turn, settle, socket, shared.stopping.clone())
        }
    }
}

fn send(asked: &Asked, turn: &Turn, settle: Settle, socket: Socket, stopping: CancellationToken) -> Response<Body> {
    let mut frames = match asked.wire {
        Wire::OpenAi => openai::frames(asked, turn),
        Wire::Anthropic => anthropic::frames(asked, turn),
    };
    let mut ending = Ending::Clean;
    match &turn.fault {
        Some(Fault::Status { status, headers, body }) => {
            settle.sent();
            return status_response(asked.wire, *status, headers.iter(), body.as_deref());
        }
        Some(Fault::Body { content_type, text }) => {
            settle.sent();
            return response(StatusCode::OK, content_type, text.clone());
        }
        None if !asked.stream => {
            settle.sent();
            return json_response(StatusCode::OK, &whole(asked, turn));
        }
        None => {}
        Some(Fault::Cut { after, how }) => {
            frames.truncate(*after);
            ending = if *how == Cut::Reset {
                Ending::Reset
            } else {
                Ending::Clean
            };
        }
        Some(Fault::Stall { after }) => {
            frames.truncate(*after);
            ending = Ending::Silent;
        }
        Some(Fault::Event { after, data }) => {
            frames.truncate(*after);
            frames.push(Frame {
                name: None,
                data: data.clone(),
            });
        }
    }
    let frames = frames.into_iter();
    let events = Events {
        frames,
        begun: false,
        gap_ms: turn.token_gap_ms,
        ending,
        settle,
        socket,
        stopping,
    };
    response(StatusCode::OK, "text/event-stream", Body::from_stream(events.stream()))
}

/// A stream that is being sent.
struct Events {
    frames: std::vec::IntoIter<Frame>,
    begun: bool,
    gap_ms: u64,
    ending: Ending,
    settle: Settle,
    socket: Socket,
    stopping: CancellationToken,
}

/// What comes after the last event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Clean,
    Reset,
    Silent,
}

impl Events {
    fn stream(self) -> impl Stream<Item = io::Result<String>> {
        stream::unfold(self, |mut events| async move {
            let next = events.next().await?;
            Some((next, events))
        })
    }

    /// The next piece of the body; an error breaks the connection off.
    async fn next(&mut self) -> Option<io::Result<String>> {
        if self.stopping.is_cancelled() {
            return Some(Err(io::Error::other("the server stops")));
        }
        if let Some(frame) = self.frames.next() {
            if std::mem::replace(&mut self.begun, true) {
                pause(self.gap_ms, &self.stopping).await;
            }
            return Some(Ok(frame.text()));
        }
        match self.ending {
            Ending::Clean => {
                self.settle.sent();
                None
            }
            Ending::Reset => {
                sleep(RESET_PAUSE).await;
                self.settle.sent();
                let reset = self.socket.reset_on_close();
                Some(Err(reset
                    .err()
                    .unwrap_or_else(|| io::Error::other("the script resets"))))
            }
            Ending::Silent => {
                self.stopping.cancelled().await;
                Some(Err(io::Error::other("the server stops")))
            }
        }
    }
}

/// Waits, but not longer than the server runs.
async fn pause(ms: u64, stopping: &CancellationToken) {
    if ms > 0 {
        tokio::select! {
            () = sleep(Duration::from_millis(ms)) => {}
            () = stopping.cancelled() => {}
        }
    }
}

fn shown(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

fn whole(asked: &Asked, turn: &Turn) -> Value {
    match asked.wire {
        Wire::OpenAi => openai::whole(asked, turn),
        Wire::Anthropic => anthropic::whole(asked, turn),
    }
}

fn status_response<'a>(
    wire: Wire,
    status: u16,
    headers: impl Iterator<Item = (&'a String, &'a String)>,
    body: Option<&str>,
) -> Response<Body> {
    let code = StatusCode::from_u16(status).expect("the script's status is a status");
    let mut answer = match body {
        Some(body) => response(code, "text/plain", body.to_owned()),
        None => json_response(code, &error(wire, status, &format!("scripted {status}"))),
    };
    for (name, value) in headers {
        let name: HeaderName = name.parse().expect("the script's header is a header");
        answer
            .headers_mut()
            .insert(name, value.parse().expect("the script's header is a header"));
    }
    answer
}

/// An error in the shape of the wire, with the word that goes with its status.
fn error(wire: Wire, status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    match wire {
        Wire::OpenAi => openai::error(kind, message),
        Wire::Anthropic => anthropic::error(kind, message),
    }
}

fn json_response(status: StatusCode, body: &Value) -> Response<Body> {
    response(status, "application/json", body.to_string())
}

fn response(status: StatusCode, content_type: &str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let content_type = content_type.parse().expect("the script's content type is a header");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
