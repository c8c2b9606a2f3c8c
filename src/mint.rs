//! New ids and the clock: what core may not have.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use portcullis_core::Moment;

pub(crate) fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A number for every process, so that ids of several never meet. From the hasher's own keys when the system has no
/// random numbers to give: ids must differ, they need not be secret.
static PROCESS: LazyLock<u64> = LazyLock::new(|| {
    getrandom::u64().unwrap_or_else(|_| {
        use std::hash::{BuildHasher, Hasher};
        std::collections::hash_map::RandomState::new().build_hasher().finish()
    })
});
static MINTED: AtomicU64 = AtomicU64::new(0);

/// A new id of any kind: `mint(EventId::new)`. Ids of one process sort by the order of their making.
pub(crate) fn mint<T>(make: impl FnOnce(Moment, u128) -> T) -> T {
    let count = MINTED.fetch_add(1, Ordering::Relaxed) & 0xff_ffff_ffff;
    make(now(), u128::from(*PROCESS >> 24) << 40 | u128::from(count))
}
