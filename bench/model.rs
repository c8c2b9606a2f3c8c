//! A model that says one word, streamed as the Messages API does: what a Claude Code under measurement talks to.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use serde_json::{Value, json};

/// Listens on a port of its own until the benchmark ends, and returns its address.
pub(crate) fn start() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that goes away in the middle fails its own measurement.
            thread::spawn(move || answer(stream).ok());
        }
    });
    Ok(address)
}

/// One request a connection.
fn answer(stream: TcpStream) -> anyhow::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut path, mut length, mut line) = (String::new(), 0, String::new());
    while reader.read_line(&mut line)? > 2 {
        if path.is_empty() {
            path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        } else if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let is_message = path.split('?').next() == Some("/v1/messages");
    let (status, kind, text) = match is_message {
        true => ("200 OK", "text/event-stream", streamed(&serde_json::from_slice(&body).unwrap_or_default())),
        false => ("404 Not Found", "application/json", "{}".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    let mut stream = stream;
    stream.write_all(format!("{head}{text}").as_bytes())?;
    Ok(())
}

fn streamed(request: &Value) -> String {
    let usage =
        json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"], "content": [],
                         "stop_reason": null, "stop_sequence": null, "usage": usage});
    let frames = [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "pong"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ];
    let event = |frame: &Value| format!("event: {}\ndata: {frame}\n\n", frame["type"].as_str().unwrap_or_default());
    frames.iter().map(event).collect()
}
