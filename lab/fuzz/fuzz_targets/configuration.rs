//! Feeds the target `configuration`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| picklock_fuzz_targets::configuration::run(input));
