//! Feeds the target `resp_requests`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| picklock_fuzz_targets::resp_requests::run(input));
