//! `semaphore-remade`: `semaphore-list` that creates its tokens whenever the list does not exist.
//!
//! Redis removes a list with its last element, so the tokens are created again as soon as all of them are taken. Caught
//! by `exclusion` and `resource` without any fault.

use std::sync::LazyLock;

use redis::Script;

use crate::semaphores::token_list::SemaphoreList;
use crate::{BuiltInLock, Kind, patience};

static TAKE_TOKEN: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("take_token_if_missing.lua")));

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "semaphore-remade",
    summary: "mutant: semaphore-list that takes an empty list for a missing one",
    nodes: 1,
    replicas: 0,
    kind: Kind::Semaphore,
    options: patience::RETRY,
    build: |nodes, context| Box::new(SemaphoreList::new(nodes, context, &TAKE_TOKEN)),
};
