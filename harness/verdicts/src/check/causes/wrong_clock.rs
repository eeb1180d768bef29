//! Wrong wall clocks as a cause. It is not enough that a clock fault was active: the violation must follow from the
//! wrong time.

use crate::check::verdict::Cause;
use crate::history::KeyCommand;
use crate::key_history::ValueSpan;
use crate::timeline::{FaultSpan, Hold, is_instantaneous, spoils_clocks};

/// Returns the cause if a wrong clock made a client treat an unexpired value as expired, or `None` if no clock explains
/// it. Either the clock of one of the two clients was wrong, or the server's clock leapt and the value has no expiry on
/// the server. `taken` is the value that the client itself wrote, which contains a time from the same clock.
pub(super) fn cause_of_clocks(
    faults: &[FaultSpan<'_>],
    by: &KeyCommand,
    (span, taken): (&ValueSpan, Option<&ValueSpan>),
    earlier: &Hold,
) -> Option<Cause> {
    // By the times in the two values, the earlier value had not expired. So the lock was not misled by a clock.
    if !taken.is_some_and(|taken| looked_expired(&span.value, &taken.value, earlier.ttl_ns)) {
        return None;
    }
    let mut clocks = faults.iter().filter(|fault| {
        spoils_clocks(fault.fault) && fault.took_effect() && fault.began_ns <= span.until_ns
    });
    clocks.find_map(|fault| {
        let is_lasting =
            (fault.clock).map_or(is_instantaneous(fault.fault), |shift| shift.for_good);
        let is_over = !is_lasting && fault.ended_ns.is_some_and(|ns| ns < span.from_ns);
        // A later client whose clock is ahead finds the lock expired too early. If the earlier client's clock is
        // behind, it writes an expiry that is too soon.
        let is_shifted = |ahead: bool| fault.clock.is_none_or(|shift| (shift.by_ns > 0) == ahead);
        let affects = |worker: usize| fault.workers.contains(&worker);
        let is_skewed =
            affects(by.worker) && is_shifted(true) || affects(earlier.worker) && is_shifted(false);
        let has_leapt = fault.nodes.contains(&span.node)
            && fault.clock.is_some_and(|shift| shift.by_ns > 0)
            && span.expiry.is_none();
        if is_over {
            None
        } else if is_skewed {
            Some(Cause::ClockSkew)
        } else {
            has_leapt.then_some(Cause::ClockJump)
        }
    })
}

/// Returns `true` if the earlier value had expired according to the time in the later value. Whether a lock stores the
/// beginning or the end of a lease, the later time is then at least one lease after the earlier time.
///
/// Only a lock that stores times in its values compares them with a clock.
fn looked_expired(earlier: &str, later: &str, lease_ns: u64) -> bool {
    let both = timestamp(earlier).zip(timestamp(later));
    both.is_some_and(|((earlier_ns, unit_ns), (later_ns, _))| {
        later_ns + unit_ns > earlier_ns + u128::from(lease_ns)
    })
}

/// Returns the first time in a value, in nanoseconds since 1970, and the nanoseconds of its unit: a number of 10 to 19
/// digits, which counts seconds to nanoseconds.
fn timestamp(value: &str) -> Option<(u128, u128)> {
    let mut words = value.split(|char: char| !char.is_ascii_alphanumeric());
    words.find_map(|word| {
        let unit_ns = match word.len() {
            10..=12 => 1_000_000_000,
            13..=15 => 1_000_000,
            16..=18 => 1_000,
            19 => 1,
            _ => return None,
        };
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let count: u128 = word.parse().ok().filter(|_| is_number)?;
        Some((count * unit_ns, unit_ns))
    })
}

/// Returns `true` if an expiry that the client set by `by_ns` differs from the lease by about as much as a fault had
/// shifted the client's clock. An acquisition may count the lease from its request; an extension counts it from the
/// time of the command.
pub(in crate::check) fn is_off_by_its_clock(
    faults: &[FaultSpan<'_>],
    span: &ValueSpan,
    hold: &Hold,
    by_ns: u64,
) -> bool {
    let lease_ns = i128::from(hold.ttl_ns);
    let past_ns = i128::from(span.from_ns.saturating_sub(hold.acquire_ns));
    let off_ns = |ttl_ms: i64| i128::from(ttl_ms) * 1_000_000 - lease_ns;
    let first_ns = span.first_ttl_ms.map(off_ns);
    let first = first_ns
        .into_iter()
        .flat_map(|off_ns| [off_ns, off_ns + past_ns]);
    let first = first.map(|off_ns| (span.from_ns, off_ns));
    let own = (span.renewals.iter()).filter(|renewal| renewal.by.worker == hold.worker);
    let renewed = own.filter_map(|renewal| Some((renewal.at_ns, off_ns(renewal.ttl_ms?))));
    first
        .chain(renewed)
        .filter(|(set_ns, _)| *set_ns <= by_ns)
        .any(|(set_ns, off_ns)| {
            let explains = |fault: &FaultSpan<'_>| {
                let shift_ns = fault.clock.map_or(0, |shift| i128::from(shift.by_ns));
                // The difference must match the shift with a tolerance of a tenth of the shift, but at least 20 ms.
                let tolerance_ns = (shift_ns.abs() / 10).max(20_000_000);
                spoils_clocks(fault.fault)
                    && fault.began_ns <= set_ns
                    && fault.affects(hold.worker)
                    && fault.workers.contains(&hold.worker)
                    && (off_ns - shift_ns).abs() <= tolerance_ns
            };
            faults.iter().any(explains)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_a_value_is_a_whole_word_of_digits() {
        for (value, time) in [
            ("1764380000123", (1_764_380_000_123_000_000, 1_000_000)),
            (
                "{\"until\":1764380000,\"by\":7}",
                (1_764_380_000_000_000_000, 1_000_000_000),
            ),
            ("w1:1764380000123.5", (1_764_380_000_123_000_000, 1_000_000)),
        ] {
            assert_eq!(timestamp(value), Some(time), "{value}");
        }
        for value in [
            "",
            "7",
            "27aa59594e073e57de0ef09b2373141a8198cf62",
            "{a1764380000: 1}",
        ] {
            assert_eq!(timestamp(value), None, "{value}");
        }
    }

    #[test]
    fn value_looks_expired_a_lease_later() {
        let lease_ns = 1_000_000_000;
        let later = |value: &str| looked_expired("1764380000500", value, lease_ns);
        assert!(later("1764380001500"));
        assert!(!later("1764380001499"));
        assert!(!later("token"));
        // Times in seconds are rounded.
        assert!(looked_expired("1764380000", "1764380001", lease_ns));
        assert!(!looked_expired("1764380000", "1764380000", lease_ns));
    }
}
