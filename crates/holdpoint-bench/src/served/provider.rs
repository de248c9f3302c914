//! What the provider adds to a bare client that sends the same bodies, and how soon the first word is there.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use holdpoint::Message;
use holdpoint_model::{Delta, DeltaSink, Model, ModelChoice, ModelRequest, NoDeltas};
use holdpoint_tools::ToolDefinition;
use serde_json::{Value, json};

use super::bare::Bare;
use super::parameters;
use super::process::{Watch, median, median_difference, peak_bytes};
use crate::parts::print;

/// No call, and the final text in so many pieces.
const SCRIPTS: [(u32, &str); 2] = [(1, "m-turns0-k1-txt1"), (20, "m-turns0-k1-txt20")];
/// What the text begins with.
const FIRST_TEXT: &str = "w0 ";
const ROUNDS: usize = 15;
const MESSAGE_BYTES: usize = 500;
/// What the provider may add per request, in milliseconds: with a short and with a long history.
const ADDED_MS_MAX: [(usize, f64); 2] = [(10, 0.06), (1000, 0.2)];
const FIRST_DELTA_MS_MAX: f64 = 0.3;

pub(super) async fn measure(url: &str) -> anyhow::Result<()> {
    let bare = Bare::new(url)?;
    let tools = [Arc::new(ToolDefinition::new("work", "do work", parameters()))];
    let cases = ADDED_MS_MAX.iter().flat_map(|bound| SCRIPTS.map(|script| (*bound, script)));
    for ((history, added_ms_max), (pieces, script)) in cases {
        let model = ModelChoice::parse(&format!("openai:{script}"))?.base_url(url).open()?;
        let history = crate::parts::history(history, MESSAGE_BYTES);
        let case = Case { model: &*model, bare: &bare, tools: &tools, history, script, pieces };
        case.measure(added_ms_max).await?;
    }
    stream_memory(url, &tools).await
}

/// A text in so many pieces that the stream is above 10 MB on the wire.
const LONG_SCRIPT: &str = "m-turns0-k1-txt60000";
/// Beyond the text itself, which the reply is: what is read and not yet understood.
const STREAM_MEMORY_BYTES_MAX: f64 = 4e6;

/// What the process grows by, at its most, while it reads a long stream.
async fn stream_memory(url: &str, tools: &[Arc<ToolDefinition>]) -> anyhow::Result<()> {
    let model = ModelChoice::parse(&format!("openai:{LONG_SCRIPT}"))?.base_url(url).open()?;
    let messages = [Arc::new(Message::user("go"))];
    let bytes = Arc::new(Mutex::new(0));
    let count = Counted(Arc::clone(&bytes));
    let before = peak_bytes()?;
    let reply = model.reply(&ModelRequest::new(&messages, tools), &count).await?;
    let grown = peak_bytes()? - before;
    let text_bytes = reply.map_or(0, |reply| reply.text.len());
    let delivered = *bytes.lock().unwrap_or_else(PoisonError::into_inner);
    anyhow::ensure!(delivered == text_bytes, "the deltas are not the reply");
    print(&json!({
        "peer": "holdpoint", "bench": "model_stream_memory", "script": LONG_SCRIPT, "text_bytes": text_bytes,
        "peak_grown_bytes": grown, "peak_grown_bytes_max": STREAM_MEMORY_BYTES_MAX, "holds": grown < STREAM_MEMORY_BYTES_MAX,
    }));
    Ok(())
}

/// Counts the bytes of the text.
struct Counted(Arc<Mutex<usize>>);

impl DeltaSink for Counted {
    fn listens(&self) -> bool {
        true
    }

    fn take(&self, delta: Delta<'_>) {
        if let Delta::Text(text) = delta {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) += text.len();
        }
    }
}

struct Case<'a> {
    model: &'a dyn Model,
    bare: &'a Bare,
    tools: &'a [Arc<ToolDefinition>],
    history: Vec<Arc<Message>>,
    script: &'static str,
    pieces: u32,
}

impl Case<'_> {
    async fn measure(&self, added_ms_max: f64) -> anyhow::Result<()> {
        let body = self.body()?;
        let requests = if self.history.len() < 1000 { 500 } else { 100 };
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        let (mut our_cpu, mut bare_cpu) = (Vec::new(), Vec::new());
        let (mut our_first, mut bare_first) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let (mut asked, mut sent) = (Vec::new(), Vec::new());
            let watch = Watch::start();
            for _ in 0..requests {
                sent.push(self.send(body.clone()).await?);
            }
            let (bare_ms, bare_cpu_ms) = (watch.wall_ms(), watch.cpu_ms());
            let watch = Watch::start();
            for _ in 0..requests {
                self.ask(&NoDeltas).await?;
            }
            let (our_ms, our_cpu_ms) = (watch.wall_ms(), watch.cpu_ms());
            for _ in 0..requests {
                asked.push(self.ask_listening().await?);
            }
            // The first round warms everything up.
            if round > 0 {
                let each = |total: f64| total / f64::from(requests);
                bare.push(each(bare_ms));
                ours.push(each(our_ms));
                bare_cpu.push(each(bare_cpu_ms));
                our_cpu.push(each(our_cpu_ms));
                bare_first.push(median(&sent));
                our_first.push(median(&asked));
            }
        }
        let added_ms = median_difference(&ours, &bare);
        let first_delta_ms = median_difference(&our_first, &bare_first);
        print(&json!({
            "peer": "holdpoint", "bench": "model_overhead", "history": self.history.len(), "pieces": self.pieces, "body_bytes": body.len(),
            "wall_ms_per_request": median(&ours), "raw_reqwest_wall": median(&bare), "added_ms": added_ms,
            "added_ms_max": added_ms_max, "added_cpu_ms": median_difference(&our_cpu, &bare_cpu),
            "first_delta_ms": median(&our_first), "raw_first_text_ms": median(&bare_first),
            "first_delta_added_ms": first_delta_ms, "first_delta_added_ms_max": FIRST_DELTA_MS_MAX,
            "holds": added_ms < added_ms_max && first_delta_ms < FIRST_DELTA_MS_MAX,
        }));
        Ok(())
    }

    /// The history, and what a turn adds: the two last messages are new each time.
    fn messages(&self) -> Vec<Arc<Message>> {
        let mut messages = self.history.clone();
        messages.extend([Arc::new(Message::assistant("so far")), Arc::new(Message::user("go on"))]);
        messages
    }

    async fn ask(&self, deltas: &dyn DeltaSink) -> anyhow::Result<()> {
        let messages = self.messages();
        let reply = self.model.reply(&ModelRequest::new(&messages, self.tools), deltas).await?;
        anyhow::ensure!(reply.is_some_and(|reply| reply.text.starts_with(FIRST_TEXT)), "the reply is another");
        Ok(())
    }

    /// The milliseconds to the first text.
    async fn ask_listening(&self) -> anyhow::Result<f64> {
        let first = First { began: Instant::now(), at_ms: Mutex::new(None) };
        self.ask(&first).await?;
        let at_ms = *first.at_ms.lock().unwrap_or_else(PoisonError::into_inner);
        at_ms.ok_or_else(|| anyhow::anyhow!("there was no text"))
    }

    /// The same body, as the provider would send it.
    fn body(&self) -> anyhow::Result<Bytes> {
        let said = |message: &Arc<Message>| match **message {
            Message::User(_) => json!({ "role": "user", "content": message.text() }),
            _ => json!({ "role": "assistant", "content": message.text() }),
        };
        let messages: Vec<Value> = self.messages().iter().map(said).collect();
        let function = json!({ "name": "work", "description": "do work", "parameters": parameters() });
        let body = json!({
            "model": self.script, "stream": true, "stream_options": { "include_usage": true },
            "tools": [{ "type": "function", "function": function }], "messages": messages,
        });
        Ok(serde_json::to_vec(&body)?.into())
    }

    /// Sends and reads everything, and understands nothing; the milliseconds to the first text.
    async fn send(&self, body: Bytes) -> anyhow::Result<f64> {
        let began = Instant::now();
        let mut first_ms = None;
        // What stands before a border of two pieces and may belong to what is looked for.
        let mut end: Vec<u8> = Vec::new();
        let request =
            self.bare.http.post(&self.bare.url).bearer_auth("x").header("content-type", "application/json").body(body);
        let mut response = request.send().await?.error_for_status()?;
        while let Some(chunk) = response.chunk().await? {
            if first_ms.is_none() {
                end.extend_from_slice(&chunk);
                if end.windows(4).any(|bytes| bytes == b"\"w0 ") {
                    first_ms = Some(began.elapsed().as_secs_f64() * 1e3);
                }
                end.drain(..end.len().saturating_sub(3));
            }
        }
        first_ms.ok_or_else(|| anyhow::anyhow!("there was no text"))
    }
}

/// Notes when the first text came.
struct First {
    began: Instant,
    at_ms: Mutex<Option<f64>>,
}

impl DeltaSink for First {
    fn listens(&self) -> bool {
        true
    }

    fn take(&self, delta: Delta<'_>) {
        if let Delta::Text(_) = delta {
            let mut at_ms = self.at_ms.lock().unwrap_or_else(PoisonError::into_inner);
            at_ms.get_or_insert(self.began.elapsed().as_secs_f64() * 1e3);
        }
    }
}
