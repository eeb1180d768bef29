//! Stretches too short to be seen, put together until a page can carry what is left.
//!
//! Nothing that is longer than the step is touched, nor anything that takes part in a violation.
//! What is put together says how many holds it stands for, and for how long they held.

use crate::lanes::{Doing, Stretch};

/// What a page draws in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// One stretch, as it was.
    Stretch(Stretch),
    /// Several that are too short to be seen.
    Bunch(Bunch),
}

/// Several stretches of one worker, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bunch {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    /// How many stretches of holding there are in it.
    pub(super) holds: u64,
    /// How long it was held in all.
    pub(super) held_ns: u64,
    /// True when a lease had run out somewhere in it.
    pub(super) past: bool,
}

impl Piece {
    pub(super) fn began_ns(self) -> u64 {
        match self {
            Piece::Stretch(stretch) => stretch.from_ns,
            Piece::Bunch(bunch) => bunch.from_ns,
        }
    }

    pub(super) fn ended_ns(self) -> u64 {
        match self {
            Piece::Stretch(stretch) => stretch.to_ns,
            Piece::Bunch(bunch) => bunch.to_ns,
        }
    }
}

/// The pieces of one lane, no shorter than `step_ns` where several stood beside each other.
/// `kept`: disjoint spans in the order of time of which every stretch stays as it is.
pub(super) fn bunched(stretches: &[Stretch], step_ns: u64, kept: &[(u64, u64)]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut growing: Option<(Stretch, Bunch)> = None;
    for stretch in stretches {
        let alone = stretch.to_ns - stretch.from_ns >= step_ns || touches(kept, stretch);
        if let Some((_, bunch)) = &mut growing
            && !alone
            && stretch.to_ns - bunch.from_ns <= step_ns
        {
            take(bunch, stretch);
            continue;
        }
        flush(&mut pieces, growing.take());
        if alone {
            pieces.push(Piece::Stretch(*stretch));
        } else {
            let mut bunch = Bunch {
                from_ns: stretch.from_ns,
                to_ns: stretch.from_ns,
                holds: 0,
                held_ns: 0,
                past: false,
            };
            take(&mut bunch, stretch);
            growing = Some((*stretch, bunch));
        }
    }
    flush(&mut pieces, growing);
    pieces
}

fn take(bunch: &mut Bunch, stretch: &Stretch) {
    bunch.to_ns = stretch.to_ns;
    if stretch.doing.holds() {
        bunch.holds += 1;
        bunch.held_ns += stretch.to_ns - stretch.from_ns;
        bunch.past |= stretch.doing == Doing::PastLease;
    }
}

/// A bunch of one is the one.
fn flush(pieces: &mut Vec<Piece>, growing: Option<(Stretch, Bunch)>) {
    if let Some((first, bunch)) = growing {
        pieces.push(if bunch.to_ns == first.to_ns {
            Piece::Stretch(first)
        } else {
            Piece::Bunch(bunch)
        });
    }
}

/// True when the stretch meets one of these disjoint spans.
pub(super) fn touches(kept: &[(u64, u64)], stretch: &Stretch) -> bool {
    let first = kept.partition_point(|span| span.1 < stretch.from_ns);
    kept.get(first).is_some_and(|span| span.0 <= stretch.to_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(from_ns: u64, to_ns: u64, doing: Doing) -> Stretch {
        Stretch {
            from_ns,
            to_ns,
            op: from_ns,
            key: 0,
            doing,
        }
    }

    fn lane() -> Vec<Stretch> {
        vec![
            stretch(0, 2, Doing::Waiting),
            stretch(2, 5, Doing::InLease),
            stretch(5, 6, Doing::PastLease),
            stretch(8, 30, Doing::InLease),
            stretch(31, 32, Doing::Waiting),
            stretch(33, 34, Doing::InLease),
        ]
    }

    #[test]
    fn the_short_are_put_together_and_the_long_stay() {
        let pieces = bunched(&lane(), 10, &[]);
        let [
            Piece::Bunch(first),
            Piece::Stretch(long),
            Piece::Bunch(last),
        ] = pieces[..]
        else {
            panic!("{pieces:?}");
        };
        assert_eq!((first.from_ns, first.to_ns), (0, 6));
        assert_eq!((first.holds, first.held_ns, first.past), (2, 4, true));
        assert_eq!((long.from_ns, long.to_ns), (8, 30));
        assert_eq!((last.holds, last.held_ns, last.past), (1, 1, false));
    }

    #[test]
    fn what_a_violation_touches_stays_as_it_is() {
        let pieces = bunched(&lane(), 10, &[(5, 5), (33, 40)]);
        let exact = pieces.iter().filter(|p| matches!(p, Piece::Stretch(_)));
        // Two that touch 5, the long one, and each of the last two, one of which is alone.
        assert_eq!(exact.count(), 6);
    }

    #[test]
    fn without_a_step_nothing_changes() {
        let pieces = bunched(&lane(), 0, &[]);
        let same: Vec<Piece> = lane().into_iter().map(Piece::Stretch).collect();
        assert_eq!(pieces, same);
    }
}
