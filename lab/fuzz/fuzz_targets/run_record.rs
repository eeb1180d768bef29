//! Feeds the target `run_record`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| picklock_fuzz_targets::run_record::run(input));
