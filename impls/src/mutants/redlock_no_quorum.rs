//! `redlock-no-quorum`: redlock that is content with a single node.
//!
//! The erosion of the quorum (S8) built in: two clients that reach different nodes first both
//! hold. In a calm scenario that is a matter of luck; a scenario that splits the votes, by delaying each
//! client's way to other nodes, shows it every time.

use crate::Strategy;
use crate::strategies::redlock::{OPTIONS, Redlock, Rules};

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "redlock-no-quorum",
    summary: "mutant: redlock that takes one node of five for a majority",
    nodes: 5,
    replicas: 0,
    options: OPTIONS,
    build: |nodes, context| {
        let rules = Rules {
            quorum: |_nodes| 1,
            ..Rules::PUBLISHED
        };
        Box::new(Redlock::new(nodes, context, rules))
    },
};
