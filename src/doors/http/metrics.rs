//! `GET /metrics`: counts for a monitoring system, in the text format of Prometheus.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::State;
use portcullis_core::{EventLife, State as Known};

use super::Door;
use super::response::ErrorResponse;

/// Counted since the gate started. Only ever added to.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) accepted: AtomicU64,
    pub(super) verdicts: AtomicU64,
    pub(super) refused: AtomicU64,
}

impl Counters {
    pub(super) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// What the state tells at one moment.
struct Gauges {
    sessions: usize,
    waiting: usize,
    open_asks: usize,
    by_life: [(&'static str, usize); 5],
}

fn gauges(state: &Known) -> Gauges {
    let count = |wanted: &str| state.events().filter(|held| held.life.name() == wanted).count();
    let lives = [
        EventLife::Delivered { at: Default::default() }.name(),
        EventLife::Seen { at: Default::default() }.name(),
        EventLife::Expired { at: Default::default() }.name(),
        EventLife::Dropped { at: Default::default(), by: String::new(), why: None }.name(),
        EventLife::Dead { at: Default::default() }.name(),
    ];
    Gauges {
        sessions: state.sessions().filter(|session| session.is_attached()).count(),
        waiting: state.waiting_total(),
        open_asks: state.open_asks().count(),
        by_life: lives.map(|life| (life, count(life))),
    }
}

pub(super) async fn metrics(State(door): State<Arc<Door>>) -> Result<String, ErrorResponse> {
    let gauges = door.hub.look(gauges).await?;
    let mut page = String::new();
    let mut row = |name: &str, kind: &str, help: &str, value: u64| {
        page.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n"));
    };
    let counters = &door.counters;
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    row("portcullis_events_accepted_total", "counter", "Events accepted over HTTP.", read(&counters.accepted));
    row("portcullis_verdicts_total", "counter", "Verdicts recorded over HTTP.", read(&counters.verdicts));
    row("portcullis_refused_total", "counter", "Requests refused over HTTP.", read(&counters.refused));
    row("portcullis_sessions", "gauge", "Sessions attached.", gauges.sessions as u64);
    row("portcullis_events_waiting", "gauge", "Events waiting for a session.", gauges.waiting as u64);
    row("portcullis_asks_open", "gauge", "Permission prompts nobody has answered.", gauges.open_asks as u64);
    let listeners = door.listeners.taken();
    row("portcullis_listeners", "gauge", "Open event streams.", listeners as u64);
    page.push_str("# HELP portcullis_events_remembered Settled events the gate still remembers.\n");
    page.push_str("# TYPE portcullis_events_remembered gauge\n");
    for (life, count) in gauges.by_life {
        page.push_str(&format!("portcullis_events_remembered{{state=\"{life}\"}} {count}\n"));
    }
    Ok(page)
}
