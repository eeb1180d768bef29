//! The sales of one stock, and which of them rest on a reading that other sales had overtaken.

use std::collections::HashMap;

use picklock_scenarios::StockFault;

use crate::history::{Belated, EventKind, History};

/// One unit sold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sale {
    /// The attempt that sold it.
    pub op: u64,
    /// Why it was not sold when its seller asked for it.
    belated: Option<Belated>,
}

/// A sale that rests on an old reading, and one that the reading does not show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overtaken {
    /// The sale that the reading does not show.
    pub other: Sale,
    /// The sale on the old reading.
    pub by: Sale,
    /// The other sale had been made when it was read: the reading came from a replica that lagged.
    is_hidden: bool,
}

impl Overtaken {
    /// What spoilt the stock, whatever the lock did: a fault, the attempt whose access it was of, and the other one.
    /// `None`: a sale came between another one's reading and writing. `begin_ns`: when an attempt's hold began.
    ///
    /// A change that came late did it where its writer was alone when it asked for it. Where the other one was inside
    /// by then, it would have done the same in time.
    pub fn outside(&self, begin_ns: impl Fn(u64) -> Option<u64>) -> Option<(StockFault, [u64; 2])> {
        let (other, by) = (self.other, self.by);
        if self.is_hidden {
            return Some((StockFault::StaleRead, [by.op, other.op]));
        }
        let late = [(by, other), (other, by)].into_iter();
        let mut late = late.filter_map(|(late, rival)| {
            let belated = late.belated?;
            let was_alone = begin_ns(rival.op)? >= belated.requested_at_ns;
            let is_outside = was_alone || belated.by == StockFault::UncheckedWrite;
            is_outside.then_some((belated.by, [late.op, rival.op]))
        });
        late.next()
    }
}

/// The sales of a key that were made on a reading which another sale had overtaken, in the order in which they were
/// made.
pub(super) fn overtaken(
    history: &History,
    of_key: u32,
    until_ns: u64,
) -> impl Iterator<Item = Overtaken> {
    let mut sales: Vec<(u64, Sale)> = Vec::new();
    // How many sales each reading showed, and how many had been made by then.
    let mut seen: HashMap<u64, (usize, usize)> = HashMap::new();
    let events = history.events.iter();
    let events = events.take_while(move |event| event.at_ns <= until_ns);
    events.flat_map(move |event| -> Vec<Overtaken> {
        match event.what {
            EventKind::StockRead {
                op, key, as_of_ns, ..
            } if key == of_key => {
                let made = sales.len();
                let shown = as_of_ns.map_or(made, |as_of_ns| {
                    sales.partition_point(|(at_ns, _)| *at_ns <= as_of_ns)
                });
                seen.insert(op, (shown, made));
                Vec::new()
            }
            EventKind::StockChanged {
                op, key, belated, ..
            } if key == of_key => {
                let made = sales.len();
                let (shown, made) = seen.remove(&op).unwrap_or((made, made));
                let by = Sale { op, belated };
                let since = sales.iter().enumerate().skip(shown);
                let overtaken = since.map(|(index, (_, other))| Overtaken {
                    other: *other,
                    by,
                    is_hidden: index < made,
                });
                let overtaken = overtaken.collect();
                sales.push((event.at_ns, by));
                overtaken
            }
            _ => Vec::new(),
        }
    })
}
