//! What reads text and bytes of strangers, as functions of an input.
//!
//! Each target takes any bytes at all, and must neither panic, nor hang, nor take much memory. Two
//! programs call them: `lab/scripts/fuzz` with inputs that libFuzzer makes up, for as long as one likes;
//! and a test with the inputs of the [`corpus`], one file for each target, on every run.
//!
//! Where an input was understood, a target also checks what must be true then: that a document reads
//! the same after it was written, that a link loses no byte.

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
    /// Its name: of its module, of its program, and of its file of inputs.
    pub name: &'static str,
    /// Reads an input. A panic is a finding.
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
