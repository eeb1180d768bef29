//! The readers of untrusted text and bytes, as functions of an input.
//!
//! Each target accepts any bytes, and must neither panic, nor hang, nor use much memory. Two programs call the
//! targets: `lab/scripts/fuzz`, with inputs that libFuzzer generates, and a test, with the inputs of the [`corpus`],
//! one file per target.
//!
//! If an input is valid, a target also checks the invariants, such as that a document reads the same after it was
//! written, or that a link loses no byte.

pub mod adapter_protocol;
pub mod configuration;
pub mod corpus;
pub mod history;
pub mod lua_script;
pub mod resp_replies;
pub mod resp_requests;
pub mod run_record;
pub mod scenario;
pub mod transcript;

mod one_direction;
mod reports_of;
mod talking_backend;

/// One target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of the target's module, program and corpus file.
    pub name: &'static str,
    /// Reads an input. A panic is a bug.
    pub run: fn(&[u8]),
}

macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        /// All targets.
        pub const TARGETS: &[Target] = &[
            $(Target { name: stringify!($name), run: $name::run }),*
        ];
    };
}

targets! {
    adapter_protocol,
    configuration,
    history,
    lua_script,
    resp_replies,
    resp_requests,
    run_record,
    scenario,
    transcript,
}
