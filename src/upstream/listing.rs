//! What servers offer, read when somebody needs it and kept until it changes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::failure::CallFailure;
use super::lists::{ListKind, ReadAt};
use super::upstreams::{Upstreams, unknown};

/// A list that was read before is not waited for longer than this when it is read again.
const REFRESH: Duration = Duration::from_secs(3);

/// A list of a remote server is asked for so often, where the connection is to blame: reading it twice changes nothing.
const LIST_TRIES: u32 = 3;

impl Upstreams {
    /// What a server offers. A list that cannot be read again stays as it was.
    pub(crate) async fn list(&self, name: &str, kind: ListKind) -> Result<Arc<Vec<Value>>, CallFailure> {
        let slot = self.slot(name).ok_or_else(unknown)?;
        let last = self.lists.last(name, kind);
        let mut is_second = false;
        let (connection, read_at, read) = loop {
            let connection = match slot.connection(&self.connecting(&slot)).await {
                Ok(connection) => connection,
                Err(failure) => return last.ok_or(CallFailure::NoConnection(failure)),
            };
            let offers = match kind {
                ListKind::Tools => connection.about.tools,
                ListKind::Resources | ListKind::Templates => connection.about.resources,
                ListKind::Prompts => connection.about.prompts,
            };
            if !offers {
                return Ok(Arc::default());
            }
            let read_at = ReadAt { connection: connection.serial, changes: connection.changes(kind) };
            if let Some(current) = self.lists.current(name, kind, read_at) {
                return Ok(current);
            }
            let limit = if last.is_some() { REFRESH } else { self.timeouts.connect };
            let late = || CallFailure::Nonsense(format!("no list within {} s", limit.as_secs()));
            let tries = if slot.upstream.entry.endpoint.is_local() { 1 } else { LIST_TRIES };
            let reading = connection.list_trying(kind, tries);
            let read = tokio::time::timeout(limit, reading).await.unwrap_or_else(|_| Err(late()));
            // A new session, one more try, as for a call.
            if matches!(read, Err(CallFailure::SessionExpired)) && !is_second {
                is_second = true;
                slot.give_up(&connection).await;
                continue;
            }
            break (connection, read_at, read);
        };
        match &read {
            Err(CallFailure::NeedsAuth) => slot.needs_auth(),
            _ => slot.note(&connection, read.as_ref().err()).await,
        }
        match read {
            Ok(mut items) => {
                items.retain(|item| slot.is_for_us(item.get("name").and_then(Value::as_str).unwrap_or_default()));
                let items = Arc::new(items);
                self.lists.keep(name, kind, read_at, Arc::clone(&items));
                Ok(items)
            }
            Err(failure) => last.ok_or(failure),
        }
    }
}
