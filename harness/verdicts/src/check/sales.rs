//! The sales of one stock, and which of them rest on an outdated reading.

use std::collections::HashMap;

use picklock_scenarios::StockFault;

use crate::history::{Belated, EventKind, History};

/// One unit sold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sale {
    /// The attempt that sold it.
    pub op: u64,
    /// Why the unit was sold later than its seller requested, or `None` if it was not.
    belated: Option<Belated>,
}

/// A sale that rests on an outdated reading, and an earlier sale that the reading does not include.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutdatedSale {
    /// The sale that the reading does not include.
    pub missed: Sale,
    /// The sale that rests on the reading.
    pub sale: Sale,
    /// Whether the missed sale had been made before the reading, which then came from a lagging replica.
    is_hidden: bool,
}

impl OutdatedSale {
    /// Returns the fault outside the lock that damaged the stock, with the affected attempt and the other attempt.
    /// Returns `None` if one sale simply came between the reading and the writing of another.
    ///
    /// A late change is to blame only if its writer was alone when it requested the change. If the other client was
    /// already inside, a punctual change would have done the same damage. `begin_ns` returns when an attempt's hold
    /// began.
    pub fn outside_fault(
        &self,
        begin_ns: impl Fn(u64) -> Option<u64>,
    ) -> Option<(StockFault, [u64; 2])> {
        let (missed, sale) = (self.missed, self.sale);
        if self.is_hidden {
            return Some((StockFault::StaleRead, [sale.op, missed.op]));
        }
        [(sale, missed), (missed, sale)]
            .into_iter()
            .find_map(|(late, rival)| {
                let belated = late.belated?;
                let was_alone = begin_ns(rival.op)? >= belated.requested_at_ns;
                let is_outside = was_alone || belated.by == StockFault::UncheckedWrite;
                is_outside.then_some((belated.by, [late.op, rival.op]))
            })
    }
}

/// Returns the sales of a stock that rest on an outdated reading, in the order in which they were made.
pub(super) fn outdated_sales(
    history: &History,
    of_key: u32,
    until_ns: u64,
) -> impl Iterator<Item = OutdatedSale> {
    let mut sales: Vec<(u64, Sale)> = Vec::new();
    // For each attempt, the number of sales that its reading included, and the number of sales that had been made by
    // then.
    let mut seen: HashMap<u64, (usize, usize)> = HashMap::new();
    let until_end = (history.events.iter()).take_while(move |event| event.at_ns <= until_ns);
    until_end.flat_map(move |event| -> Vec<OutdatedSale> {
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
                let sale = Sale { op, belated };
                let outdated = (sales.iter().enumerate().skip(shown))
                    .map(|(index, (_, missed))| OutdatedSale {
                        missed: *missed,
                        sale,
                        is_hidden: index < made,
                    })
                    .collect();
                sales.push((event.at_ns, sale));
                outdated
            }
            _ => Vec::new(),
        }
    })
}
