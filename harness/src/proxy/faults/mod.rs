//! The effects of faults on frames, without sockets and without a clock, so that the simulation uses the same code.

pub(super) mod fault;
pub(super) mod fault_rules;
pub(super) mod imposed_faults;
pub(super) mod link_state;
#[cfg(test)]
mod link_state_proptests;
pub(super) mod refused_command;
