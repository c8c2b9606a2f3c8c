//! Any bytes are a frame of the link, which is written as it was read, or an error.

#![no_main]
use libfuzzer_sys::fuzz_target;
use portcullis_wire::link::{FromGate, ToGate};
fuzz_target!(|bytes: &[u8]| {
    if let Ok(frame) = serde_json::from_slice::<ToGate<'_>>(bytes) {
        let again = serde_json::to_vec(&frame).unwrap();
        assert_eq!(serde_json::from_slice::<ToGate<'_>>(&again).unwrap(), frame);
    }
    drop(serde_json::from_slice::<FromGate<'_>>(bytes));
});
