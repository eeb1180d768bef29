//! Feeds the target `resp_replies`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| picklock_fuzz_targets::resp_replies::run(input));
