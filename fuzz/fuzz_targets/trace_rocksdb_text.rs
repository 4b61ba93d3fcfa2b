#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| manometer_fuzz::read(Some("rocksdb-text"), bytes));
