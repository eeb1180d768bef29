//! Feeds the target `adapter_protocol`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| picklock_fuzz_targets::adapter_protocol::run(input));
