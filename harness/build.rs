//! Builds the library that shifts a program's wall clock (`src/servers/shim/wall_clock.c`).
//!
//! If it cannot be built, an empty file takes its place, and clock faults are rejected when a scenario requests
//! them.

#[cfg(feature = "servers")]
use std::{env, error::Error, path::PathBuf};

#[cfg(feature = "servers")]
const SOURCE: &str = "src/servers/shim/wall_clock.c";

#[cfg(not(feature = "servers"))]
fn main() {}

#[cfg(feature = "servers")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={SOURCE}");
    let library = PathBuf::from(env::var("OUT_DIR")?).join("wall_clock.so");
    let system = env::var("CARGO_CFG_TARGET_OS")?;
    let machine = env::var("CARGO_CFG_TARGET_ARCH")?;
    if system != "linux" || !["x86_64", "aarch64"].contains(&machine.as_str()) {
        std::fs::write(library, [])?;
        return Ok(());
    }
    // Use the same compiler as for Lua.
    let mut compiler = cc::Build::new().try_get_compiler()?.to_command();
    compiler
        .args([
            "-O2",
            "-shared",
            "-fPIC",
            "-nostdlib",
            "-fno-stack-protector",
        ])
        .args(["-ffreestanding", "-Wall", "-Wextra"])
        .arg("-o")
        .arg(&library)
        .arg(SOURCE);
    let status = compiler.status()?;
    if !status.success() {
        return Err(format!("{compiler:?} ended with {status}").into());
    }
    Ok(())
}
