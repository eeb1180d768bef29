//! The table of the checks. A new check is one function in a module here, and one row below.

use super::check::Check;
use super::client::EndSeen;
use super::clients::{Clients, LONG, LockName};
use super::exchange::Exchange;
use super::finding::{Mistake, Problem};
use super::keys::Keys;
use super::outcome::{CheckEnd, Stop, Who, failed, not_offered, passed, passed_with};
use crate::adapter::message::{Answer, RequestKind};
use crate::adapter::protocol_fault::ProtocolFault;

mod acquire;
mod end;
mod extend;
mod key;
mod kinds;
mod lease;
mod release;
mod requests;
mod servers;
mod time_out;
mod version_two;

/// Declares the table. A row has the name, the function, the section of `docs/protocol.md`, and the behaviour of an
/// adapter that passes.
macro_rules! checks {
    ($($name:literal $module:ident::$perform:ident $section:literal $about:literal;)*) => {
        /// All checks, in the order in which they run. If the first check fails, no process is ready for the others.
        /// The last check ends the adapter.
        pub const CHECKS: &[Check] = &[$(Check {
            name: $name,
            about: $about,
            section: $section,
            perform: |clients| Box::pin($module::$perform(clients)),
        }),*];
    };
}

checks! {
    "handshake" requests::answers_init "init" "starts, and answers `init` with `ready`";
    "ping" requests::answers_ping "ping" "answers `ping` with `pong`";
    "grant" acquire::free_lock_is_granted "acquire" "grants a free lock";
    "key" key::two_locks_are_two_keys "keys" "writes the lock's key to the server, and a different key for another lock";
    "lease" lease::key_lives_as_long_as_the_lease "leases" "interprets `ttl_ms` as milliseconds, and promises no longer lease than the key has";
    "refusal" acquire::held_lock_is_refused "refused" "answers `refused` while another client holds the lock";
    "wait" acquire::waiting_ends_in_time "waiting" "gives up when `wait_ms` has run out";
    "release" release::released_lock_is_free "release" "releases what it holds, and the next client gets it";
    "double-release" release::second_release_finds_nothing "release" "does not claim to release a lock that it has released already";
    "late-release" release::expired_lock_is_not_released "release" "does not claim to release a lock that has expired";
    "extend" extend::extension_reaches_the_key "extend" "extends a lease, or answers `unsupported`";
    "lost" release::loss_is_noticed "events" "notifies a holder with `lost` if its key is gone";
    "fence" acquire::fences_grow "granted" "gives every grant a larger `fence` than the one before";
    "servers" servers::only_the_given_server_is_used "servers" "is connected to the server that it was given, and to no other";
    "ids" requests::answer_has_the_id_of_its_request "one-answer-each" "answers with the `id` of the request, even a large one";
    "unknown-words" requests::unknown_words_do_no_harm "versions" "ignores unknown fields, and answers an unknown `op` with `error`";
    "garbage" requests::garbage_is_not_answered "lines" "writes nothing to its standard output for a line that is not a request";
    "time-out" time_out::frozen_server_is_an_error_in_time "time-outs" "answers within `timeout_ms` when the server does not, and not `definite`";
    "clients" version_two::waiting_client_does_not_block_others "version-2" "serves several clients at a time in one process";
    "cancel" version_two::cancelled_wait_ends "cancel" "ends an `acquire` that is cancelled, and takes nothing";
    "block" version_two::blocked_task_does_nothing "block" "blocks for the requested time, and does nothing in the meantime";
    "section-failed" version_two::failed_section_is_answered "section-failed" "reports what happens to the lock if a section fails";
    "reentrant" version_two::holder_is_granted_again "re-entrant-locks" "grants a lock to its holder again, and keeps it until the outermost release";
    "readers" kinds::readers_are_in_together "kinds-of-locks" "lets readers in together, and a writer alone";
    "permits" kinds::permits_are_granted_together "permits" "grants as many permits at the same time as `capacity` states";
    "permit-lease" kinds::permit_of_a_dead_client_is_free_again "permits" "grants a permit again when its holder has died and its lease is over";
    "leader" kinds::leader_acts_in_its_term "act" "lets a leader act in its term, and not after it, and counts its epochs up";
    "sigterm" end::sigterm_ends_it "the-end" "ends at SIGTERM, and leaves the locks of other clients alone";
    "several-permits" kinds::several_permits_are_all_or_none "permits" "takes several permits at once, all or none of them";
    "end" end::end_is_clean "the-end" "exits with status 0 when its standard input ends, and leaves nothing behind";
}
