//! Any bytes are a record of the journal, which can be written and read again, or an error.

#![no_main]
use libfuzzer_sys::fuzz_target;
use portcullis_core::Moment;
use portcullis_wire::record::{RecordPayload, read, write};
fuzz_target!(|input: (&[u8], &[u8])| {
    let Ok(record) = read(Moment(7), input.0, RecordPayload::Kept(input.1)) else { return };
    let stored = write(&record).unwrap();
    let kept = stored.payload.as_deref().map_or(RecordPayload::None, RecordPayload::Kept);
    assert!(read(Moment(7), &stored.body, kept).is_ok());
});
