//! Any bytes are a line of the link, which is written as it was read, or an error.

#![no_main]
use libfuzzer_sys::fuzz_target;
use portcullis_wire::link::{GateMessage, Numbered, Opening, SessionMessage};
fuzz_target!(|bytes: &[u8]| {
    if let Ok(line) = serde_json::from_slice::<Numbered<SessionMessage>>(bytes) {
        let again = serde_json::to_vec(&line).unwrap();
        assert_eq!(serde_json::from_slice::<Numbered<SessionMessage>>(&again).unwrap(), line);
    }
    drop(serde_json::from_slice::<Opening>(bytes));
    drop(serde_json::from_slice::<GateMessage<'_>>(bytes));
});
