//! The page in a browser: how fast it is there, how fast a prompt is on it, what it costs the wire, the gate and the browser.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::Run;
use super::growth::gates;
use super::permission::code;
use crate::browser::Browser;
use crate::contenders::{Server, TOKEN};
use crate::http::Connection;
use crate::machine::resident;
use crate::table::{Table, quantile};

const LONG_STREAM: &str = include_str!("../../tests/it/page/long_stream.js");
const SCROLL: &str = include_str!("../../tests/it/page/scroll.js");

/// Keeps when the card of each prompt came into the document, in milliseconds since 1970.
const NOTE_CARDS: &str = "(() => { window.cards = {}; new MutationObserver(() => { \
    for (const card of document.querySelectorAll('.prompt')) \
      window.cards[card.dataset.code] ??= performance.timeOrigin + performance.now(); \
    }).observe(document.body, {childList: true, subtree: true}); return true })()";

pub(crate) fn page(run: &mut Run) -> anyhow::Result<()> {
    let (asks, rounds) = (run.count(100, 20), run.rounds);
    for (place, contender) in gates(&run.contenders) {
        let mut server = contender.start()?;
        let mut browser = Browser::start()?;
        let transferred = link(&mut browser, server.address)?;
        run.table.note("page, transferred once", "kB", place, transferred / 1e3);
        browser.see(".session")?;
        for _ in 0..rounds {
            load(&mut browser, place, &mut run.table)?;
        }
        ask_to_card(&mut server, &mut browser, asks, place, &mut run.table)?;
        long_history(&mut browser, rounds, place, &mut run.table)?;
        drop(browser);
        many_pages(&server, place, &mut run.table)?;
    }
    Ok(())
}

/// A browser that was never here opens a link and is linked. Says how many bytes came.
fn link(browser: &mut Browser, address: SocketAddr) -> anyhow::Result<f64> {
    let mut connection = Connection::open(address)?;
    let body = "{\"rights\": []}";
    let length = body.len();
    let request = format!(
        "POST /api/v1/devices/links HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    connection.send(request.as_bytes())?;
    let made: Value = serde_json::from_slice(&connection.answer()?)?;
    let secret = made["secret"].as_str().context("the link's secret")?;
    browser.tell("open", json!({"url": format!("http://{address}/#link={secret}")}))?;
    browser.see("[data-action=link]")?;
    let all = "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')] \
        .reduce((sum, entry) => sum + entry.transferSize, 0)";
    let transferred = browser.run(all)?.as_f64().context("bytes")?;
    browser.tell("click", json!({"at": "[data-action=link]"}))?;
    Ok(transferred)
}

/// From the beginning of the navigation until the list of sessions is drawn, with the files in the browser's cache.
fn load(browser: &mut Browser, place: usize, table: &mut Table) -> anyhow::Result<()> {
    browser.tell("reload", json!({}))?;
    let drawn = "new Promise((done) => { const look = () => document.querySelector('.session') \
        ? done(performance.now()) : requestAnimationFrame(look); look() })";
    table.note("page load", "ms", place, browser.run(drawn)?.as_f64().context("a time")?);
    Ok(())
}

/// From the session's question to its card in the document.
fn ask_to_card(
    server: &mut Server,
    browser: &mut Browser,
    count: usize,
    place: usize,
    table: &mut Table,
) -> anyhow::Result<()> {
    browser.run(NOTE_CARDS)?;
    let mut times = vec![];
    for number in 0..count {
        let code = code(number);
        let preview = json!({"command": "cargo build --release"}).to_string();
        let request =
            json!({"request_id": code, "tool_name": "Bash", "description": "Build it", "input_preview": preview});
        let asked = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64() * 1e3;
        server.session.tell("notifications/claude/channel/permission_request", &request)?;
        let shown = format!(
            "new Promise((done) => {{ const look = () => window.cards['{code}'] \
             ? done(window.cards['{code}']) : setTimeout(look, 5); look() }})"
        );
        times.push(browser.run(&shown)?.as_f64().context("a time")? - asked);
        browser.tell("click", json!({"at": format!("[data-code={code}] [data-action=deny]")}))?;
        server.session.line()?;
    }
    table.note("ask to card p50", "ms", place, quantile(&times, 0.5));
    table.note("ask to card p99", "ms", place, quantile(&times, 0.99));
    Ok(())
}

/// Ten thousand entries, scrolled through from the last to the first.
fn long_history(browser: &mut Browser, rounds: usize, place: usize, table: &mut Table) -> anyhow::Result<()> {
    browser.run(LONG_STREAM)?;
    for _ in 0..rounds {
        browser.tell("click", json!({"at": ".session"}))?;
        browser.see(".said .text:has-text(\"number 10000\")")?;
        browser.tell("trace", json!({}))?;
        while browser.run(SCROLL)?["there"] != true {}
        let traced = browser.tell("traced", json!({}))?;
        ensure!(traced["tasks"] != 0, "the trace has no task: {traced}");
        table.note("10,000 entries, longest task", "ms", place, traced["longest"].as_f64().context("a time")?);
        let memory = browser.tell("memory", json!({}))?;
        table.note("10,000 entries, heap", "MB", place, memory["heap"].as_f64().context("bytes")? / 1e6);
        table.note("10,000 entries, process", "MB", place, memory["process"].as_f64().context("bytes")? / 1e6);
        browser.tell("click", json!({"at": ".back"}))?;
    }
    Ok(())
}

/// What is resident while fifty pages listen as the page does.
fn many_pages(server: &Server, place: usize, table: &mut Table) -> anyhow::Result<()> {
    const PAGES: usize = 50;
    let gate = || server.stage.gate_pid().and_then(resident).unwrap_or(f64::NAN);
    table.note("gate memory, no page", "MB", place, gate());
    let address = server.address;
    let request =
        format!("GET /api/v1/watch HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n").into_bytes();
    let pages = (0..PAGES)
        .map(|_| {
            let mut page = Connection::open(address)?;
            page.send(&request)?;
            page.until(b"\"ready\"")?;
            Ok(page)
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    table.note("gate memory, 50 pages", "MB", place, gate());
    drop(pages);
    Ok(())
}
