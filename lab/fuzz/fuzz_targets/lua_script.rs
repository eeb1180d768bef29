//! Feeds the target `lua_script`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| picklock_fuzz_targets::lua_script::run(input));
