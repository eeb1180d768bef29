//! Feeds the target `transcript`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| picklock_fuzz_targets::transcript::run(input));
