//! A model behind a server of one's own that speaks chat completions, with retries, limits and options.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use holdpoint::Agent;
use holdpoint::model::{ModelChoice, ModelOptions, RetryRule, Timeouts};
use holdpoint::policy::AllowAll;
use holdpoint::tools::tool;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = serve()?;
    let model = ModelChoice::parse("openai:any-model")?
        .base_url(url)
        .window_tokens(8_000)
        .retry(RetryRule { attempts_max: 3, ..RetryRule::default() })
        .timeouts(Timeouts { first_byte: Duration::from_secs(60), ..Timeouts::default() });
    let agent = Agent::builder()
        .model(model)
        .model_options(ModelOptions { temperature: Some(0.2), output_tokens_max: Some(500), ..Default::default() })
        .policy(AllowAll)
        .tool(tool("clock.now", "Tells the time", async || "23:58"))
        .build()?;

    let result = agent.chat("what time is it?").await?;
    println!("{}", result.text().unwrap_or_default());
    println!("{} called, {} tokens", result.records()[0].name.as_str(), result.usage().total());
    Ok(())
}

/// Stands in for llama.cpp, vLLM or Ollama: it is busy once, then asks for the first tool it is offered, then says what
/// the tool gave.
fn serve() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/v1", listener.local_addr()?);
    std::thread::spawn(move || -> std::io::Result<()> {
        for (turn, stream) in listener.incoming().enumerate() {
            let mut stream = stream?;
            let body: serde_json::Value = serde_json::from_slice(&read_body(&mut stream)?)?;
            let name = &body["tools"][0]["function"]["name"];
            let said = body["messages"].as_array().and_then(|all| all.last()).map(|last| last["content"].clone());
            let (status, delta) = match turn {
                0 => ("429 Too Many Requests\r\nretry-after-ms: 10", serde_json::json!({})),
                1 => {
                    let function = serde_json::json!({ "name": name, "arguments": "{}" });
                    ("200 OK", serde_json::json!({ "tool_calls": [{ "index": 0, "id": "c1", "function": function }] }))
                }
                _ => ("200 OK", serde_json::json!({ "content": said })),
            };
            let chunk = serde_json::json!({
                "choices": [{ "index": 0, "delta": delta, "finish_reason": "stop" }],
                "usage": { "prompt_tokens": 20, "completion_tokens": 5 },
            });
            let head = format!("HTTP/1.1 {status}\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n");
            write!(stream, "{head}data: {chunk}\n\ndata: [DONE]\n\n")?;
        }
        Ok(())
    });
    Ok(url)
}

fn read_body(stream: &mut std::net::TcpStream) -> std::io::Result<Vec<u8>> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}
