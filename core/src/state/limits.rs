//! [`Limits`] of what the gate accepts, and how much a state remembers.

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

/// Limits of what the gate accepts, and how long it waits, in milliseconds. Only `decide` reads them: the state that
/// records make never depends on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Events waiting for one session, or for a session to come.
    pub waiting_events: usize,
    pub waiting_bytes: usize,
    /// Of the events that wait for a session to come, so many may be of one sender for one label. The owner has no share.
    pub waiting_of_one: usize,
    pub open_asks: usize,
    pub event_expiry: u64,
    /// So many unknown codes in `StateMemory::miss_window` block a person.
    pub misses: usize,
    /// An event that was written and never read is given to later processes of its session: so often, and no longer.
    pub redeliveries: u8,
    pub redelivery_window: u64,
    /// Strangers of one platform who may wait at once.
    pub pairings: usize,
    /// How long a session may be gone before it has ended.
    pub lost_grace: u64,
    pub restart_grace: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            waiting_events: 10_000,
            waiting_bytes: 64 << 20,
            waiting_of_one: 1_000,
            open_asks: 256,
            event_expiry: 24 * HOUR,
            misses: 5,
            redeliveries: 2,
            redelivery_window: HOUR,
            pairings: 3,
            lost_grace: 10_000,
            restart_grace: 30_000,
        }
    }
}

/// `StateMemory` says how much a state remembers. It is no setting, and the same in every release: otherwise the same
/// journal would replay to another state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateMemory {
    /// Settled events, for lists and for `inbox`; the journal has them all.
    pub(crate) settled_events: usize,
    pub(crate) chats: usize,
    /// The latest sessions and unanswered events of one chat.
    pub(crate) of_one_chat: usize,
    pub(crate) ended_sessions: usize,
    /// Conversations whose outside guard is up. The oldest is forgotten first, and its guard with it.
    pub(crate) guarded_conversations: usize,
    /// The newest replies, for those who reconnect.
    pub(crate) replies: usize,
    pub(crate) reply_bytes: usize,
    pub(crate) keys: usize,
    pub(crate) key_lifetime: u64,
    pub(crate) settled_asks: usize,
    /// A code stays taken, and a late verdict is told who was first, this long after an ask was settled.
    pub(crate) settled_ask_lifetime: u64,
    /// Text of settled asks; the journal has all of it.
    pub(crate) settled_ask_bytes: usize,
    /// Unknown codes count for this long.
    pub(crate) miss_window: u64,
    /// How long the code of a stranger counts.
    pub(crate) pairing_lifetime: u64,
}

impl Default for StateMemory {
    fn default() -> Self {
        Self {
            settled_events: 10_000,
            chats: 20_000,
            of_one_chat: 16,
            ended_sessions: 200,
            guarded_conversations: 10_000,
            replies: 256,
            reply_bytes: 4 << 20,
            keys: 100_000,
            key_lifetime: 7 * 24 * HOUR,
            settled_asks: 10_000,
            settled_ask_lifetime: 24 * HOUR,
            settled_ask_bytes: 32 << 20,
            miss_window: 10 * MINUTE,
            pairing_lifetime: 10 * MINUTE,
        }
    }
}
