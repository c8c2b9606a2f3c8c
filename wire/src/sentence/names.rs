//! The names by which people know what records tell by ids: labels of sessions, codes of prompts, senders of events.

use std::collections::BTreeMap;

use portcullis_core::{AskId, Code, EventId, Label, Offer, Order, OrderId, Record, Scope, SessionAbout, SessionId};

use crate::api::{AskView, SessionView};

/// So many of each are remembered, the latest ones: ids are in the order of time.
const MOST: usize = 10_000;

/// What earlier records told of sessions, prompts, events and orders.
#[derive(Debug, Default)]
pub struct Names {
    sessions: BTreeMap<SessionId, String>,
    /// What each session last said of itself.
    abouts: BTreeMap<SessionId, SessionAbout>,
    asks: BTreeMap<AskId, (Code, SessionId)>,
    /// What each prompt offers to remember, where it offers something.
    offers: BTreeMap<AskId, Vec<Offer>>,
    events: BTreeMap<EventId, (String, Option<SessionId>)>,
    orders: BTreeMap<OrderId, &'static str>,
}

impl Names {
    /// Remembers what a record tells.
    pub fn learn(&mut self, record: &Record) {
        if let Record::Attached { session, about, .. } | Record::Described { session, about, .. } = record {
            keep(&mut self.abouts, *session, about.clone());
        }
        match record {
            Record::Attached { session, about, label, .. } => {
                keep(&mut self.sessions, *session, label.as_ref().unwrap_or(&about.label).to_string());
            }
            Record::Described { session, label: Some(label), .. } => {
                keep(&mut self.sessions, *session, label.to_string());
            }
            Record::Described { session, about, label: None } if !self.sessions.contains_key(session) => {
                keep(&mut self.sessions, *session, about.label.to_string());
            }
            Record::Received { event, to } => keep(&mut self.events, event.id, (event.sender.clone(), *to)),
            Record::Moved { events, to, .. } | Record::Requeued { events, to, .. } => {
                for id in events {
                    if let Some((_, session)) = self.events.get_mut(id) {
                        *session = *to;
                    }
                }
            }
            Record::Wrote { session, events, .. } => {
                for id in events {
                    if let Some((_, to)) = self.events.get_mut(id) {
                        *to = Some(*session);
                    }
                }
            }
            Record::Asked { ask } => {
                keep(&mut self.asks, ask.id, (ask.code, ask.session));
                if !ask.details.offers.is_empty() {
                    keep(&mut self.offers, ask.id, ask.details.offers.clone());
                }
            }
            Record::Ordered { id: Some(id), order, .. } => keep(&mut self.orders, *id, name(order)),
            _ => {}
        }
    }

    /// Remembers the label of a session.
    pub fn learn_label(&mut self, session: SessionId, label: &Label) {
        keep(&mut self.sessions, session, label.to_string());
    }

    /// Remembers a session as the API tells of it.
    pub fn learn_session(&mut self, view: &SessionView) {
        if let Ok(session) = view.id.parse() {
            keep(&mut self.sessions, session, view.label.clone());
        }
    }

    /// Remembers a prompt as the API tells of it.
    pub fn learn_ask(&mut self, view: &AskView) {
        if let (Ok(ask), Some(code), Ok(session)) = (view.id.parse(), Code::parse(&view.code), view.session.parse()) {
            keep(&mut self.asks, ask, (code, session));
        }
    }

    /// The label of a session.
    pub fn label(&self, session: SessionId) -> Option<&str> {
        self.sessions.get(&session).map(String::as_str)
    }

    pub(super) fn about(&self, session: SessionId) -> Option<&SessionAbout> {
        self.abouts.get(&session)
    }

    pub(super) fn session_of_ask(&self, ask: AskId) -> Option<SessionId> {
        self.asks.get(&ask).map(|(_, session)| *session)
    }

    pub(super) fn session_of_event(&self, event: EventId) -> Option<SessionId> {
        self.events.get(&event).and_then(|(_, session)| *session)
    }

    pub(super) fn code(&self, ask: AskId) -> String {
        self.asks.get(&ask).map_or_else(|| format!("prompt {ask}"), |(code, _)| code.to_string())
    }

    /// What an allow of this scope lets through besides: `mode acceptEdits`.
    pub(super) fn granted(&self, ask: AskId, scope: Scope) -> Option<&str> {
        let offer = self.offers.get(&ask)?.iter().find(|offer| offer.scope == scope)?;
        Some(offer.words.strip_suffix(", for this session").unwrap_or(&offer.words))
    }

    pub(super) fn event(&self, event: EventId) -> String {
        match self.events.get(&event) {
            Some((sender, _)) => format!("event from {sender}"),
            None => format!("event {event}"),
        }
    }

    pub(super) fn events(&self, events: &[EventId]) -> String {
        match events {
            [one] => self.event(*one),
            several => format!("{} events", several.len()),
        }
    }

    pub(super) fn order(&self, order: OrderId) -> String {
        self.orders.get(&order).map_or_else(|| format!("order {order}"), |name| format!("the order to {name}"))
    }

    /// `waits for api`, or for any session; `wait` where there are several.
    pub(super) fn waits_for(&self, count: usize, to: Option<SessionId>) -> String {
        let wait = if count == 1 { "waits" } else { "wait" };
        match to {
            Some(to) => format!("{wait} for {}", self.label(to).map_or_else(|| to.to_string(), str::to_owned)),
            None => format!("{wait} for a session"),
        }
    }
}

fn name(order: &Order) -> &'static str {
    match order {
        Order::Prompt { .. } => "take a prompt",
        Order::Interrupt => "interrupt the turn",
        Order::Mode(_) => "change the mode",
        Order::Model(_) => "change the model",
        Order::Stop { .. } => "stop",
        Order::Resume => "resume",
        Order::End => "end the session",
    }
}

fn keep<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: V) {
    map.insert(key, value);
    if map.len() > MOST {
        map.pop_first();
    }
}
