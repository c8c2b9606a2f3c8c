//! Any text is masked without a panic, and once is enough.

#![no_main]
use libfuzzer_sys::fuzz_target;
fuzz_target!(|text: &str| {
    let (once, count) = portcullis_core::mask(text);
    assert_eq!(count == 0, once == text);
    assert_eq!(portcullis_core::mask(&once).0, once);
});
