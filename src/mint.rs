//! New ids and the clock: what core may not have.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use portcullis_core::Moment;

use crate::fixed;

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

/// A number that nobody can foresee, or none at all: never one that is always the same.
pub(crate) fn random() -> Result<u64, getrandom::Error> {
    match fixed::number("NO_RANDOM_NUMBERS", 0) {
        0 => getrandom::u64(),
        _ => Err(getrandom::Error::UNSUPPORTED),
    }
}

/// What marks the beginning and the end of a text from outside: nobody outside can know it.
pub(crate) fn fence() -> Option<String> {
    let number =
        random().inspect_err(|error| tracing::error!(%error, "there are no random numbers: events wait")).ok()?;
    Some(format!("{number:016x}"))
}

/// A UUID, as Claude Code names sessions and lines of input. It is not secret.
pub(crate) fn uuid() -> String {
    let number = mint(|moment, entropy| u128::from(moment.0) << 80 | entropy);
    let hex = format!("{:032x}", number & !(0xf << 76 | 0x3 << 62) | 0x4 << 76 | 0x2 << 62);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// A new id of any kind: `mint(EventId::new)`. Ids of one process sort by the order of their making.
pub(crate) fn mint<T>(make: impl FnOnce(Moment, u128) -> T) -> T {
    let count = MINTED.fetch_add(1, Ordering::Relaxed) & 0xff_ffff_ffff;
    make(now(), u128::from(*PROCESS >> 24) << 40 | u128::from(count))
}
