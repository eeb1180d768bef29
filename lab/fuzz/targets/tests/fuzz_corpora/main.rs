//! Every kept input, through its target: what fuzzing has found stays found.

mod inputs;
mod replay;
