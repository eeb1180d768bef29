//! Feeds the target `scenario`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| picklock_fuzz_targets::scenario::run(input));
