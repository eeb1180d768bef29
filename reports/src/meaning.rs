//! Each verdict in one line of plain words, with the remedy where there is one.

use picklock_verdicts::check::{Cause, Property, Status, Verdict};

/// What this verdict on `property` means.
pub fn of(property: Property, verdict: &Verdict) -> String {
    match verdict.status {
        Status::Held => held(property).to_owned(),
        Status::Violated => {
            let why = violated(verdict.cause.unwrap_or(Cause::Undetermined));
            match verdict.violations {
                0 | 1 => why.to_owned(),
                times => format!("{why} ({times} times)"),
            }
        }
        Status::Unknown => match verdict.story.first() {
            Some(reason) => reason.clone(),
            None => "could not be decided".to_owned(),
        },
        Status::NotApplicable if property == Property::Fencing => {
            "the subject gives no fencing tokens".to_owned()
        }
        Status::NotApplicable => "does not apply to this subject".to_owned(),
    }
}

fn held(property: Property) -> &'static str {
    match property {
        Property::Exclusion => "no two workers ever held a lock together",
        Property::Lease => "nobody was let in while another's lease was running",
        Property::Resource => "the stock adds up: nothing was sold twice",
        Property::Ownership => "nobody gave back a lock that was another's",
        Property::Fencing => "tokens grew from hold to hold",
        Property::Progress => "whoever still wanted the lock got it",
    }
}

/// What a cause means, and what helps against it.
pub fn violated(cause: Cause) -> &'static str {
    match cause {
        Cause::OutlivedLease => "the client outlived its lease: use fencing",
        Cause::ExpiredGrant => "a grant was used that had run out on arrival: check what is left",
        Cause::LostOnFailover => "the promoted replica had never heard of the lock",
        Cause::LostOnRestart => {
            "the node came back without the lock: sync every write, or restart after a ttl"
        }
        Cause::QuorumErosion => {
            "nodes forgot their votes: sync every write, or restart them after a ttl"
        }
        Cause::ClockJump => "a node's clock leapt, and the key expired early",
        Cause::ClockSkew => "a client trusted its wall clock: let Redis measure the lease",
        Cause::StolenRelease => {
            "a release deleted another's lock: compare and delete in one script"
        }
        Cause::PhantomExtend => "an extension re-created a lost lock: extend only what is there",
        Cause::AmbiguousAcquire => {
            "the lock was taken without the client knowing: undo what got no answer"
        }
        Cause::Evicted => "Redis dropped the key: keep locks where nothing is evicted or flushed",
        Cause::NoTtl => "a key without expiry was left behind: SET it with PX in one command",
        Cause::Race => "check and act were two commands: make them one script",
        Cause::Undetermined => "the history proves it, but does not show why",
    }
}
