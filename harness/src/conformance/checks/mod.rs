//! The table of the checks. A new one is one file here, and one line below.

macro_rules! checks {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*

        /// All checks, in the order in which they are made. Without the first one there is nobody
        /// to ask; the last one ends the adapter.
        pub const CHECKS: &[super::check::Check] = &[$($module::CHECK),*];
    };
}

checks![
    handshake,
    ping,
    grant,
    key,
    lease,
    refusal,
    wait,
    release,
    double_release,
    late_release,
    extend,
    lost,
    fence,
    servers,
    ids,
    unknown_words,
    garbage,
    time_out,
    end,
];
