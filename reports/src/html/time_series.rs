//! Time series of a run: the stock and the fencing tokens.

use std::collections::HashSet;

use picklock_verdicts::check::stale_tokens;
use picklock_verdicts::history::{EventKind, History};
use picklock_verdicts::timeline::Timeline;
use serde::Serialize;

use super::column::Column;

/// Maximum number of keys with a line each. With more keys, only the key with the lowest stock is drawn.
const MAX_LINES: usize = 6;
/// Maximum number of points. More cannot be distinguished on any screen.
const MAX_POINTS: usize = 8_000;

/// A step line. Per point, the column has the time since the previous point and the value.
#[derive(Debug, Serialize)]
pub(super) struct Steps {
    key: Option<usize>,
    start: i64,
    low: i64,
    high: i64,
    points: String,
}

/// Fencing tokens in the order of their grants. Per token: the time since the previous one, the token, and 1
/// if the `fencing` checker rejects it.
#[derive(Debug, Serialize)]
pub(super) struct Fences {
    low: u64,
    high: u64,
    points: String,
}

/// Returns the stock, one line per key. The list is empty if the stock never changed.
pub(super) fn stock(history: &History, omitted: &mut Vec<String>) -> Vec<Steps> {
    let keys = history.header.keys.len();
    let mut lines: Vec<Vec<(u64, i64)>> = vec![Vec::new(); keys];
    for event in &history.events {
        if let EventKind::StockChanged { key, to, .. } = event.what
            && let Some(line) = lines.get_mut(key as usize)
        {
            line.push((event.at_ns, to));
        }
    }
    let mut shown: Vec<usize> = (0..keys).filter(|key| !lines[*key].is_empty()).collect();
    if shown.len() > MAX_LINES {
        let lowest = |key: &usize| lines[*key].iter().map(|(_, stock)| *stock).min();
        omitted.push(format!(
            "Only the stock of the key with the lowest minimum is drawn, out of {} keys.",
            shown.len()
        ));
        shown.sort_by_key(lowest);
        shown.truncate(1);
    }
    let mut thinned = false;
    let steps = shown.into_iter().map(|key| {
        let points = thin(&lines[key]);
        thinned |= points.len() < lines[key].len();
        let start = history.header.stock_start;
        let values = || points.iter().map(|(_, value)| *value).chain([start]);
        Steps {
            key: (keys > 1).then_some(key),
            start,
            low: values().min().unwrap_or(start),
            high: values().max().unwrap_or(start),
            points: encoded(&points),
        }
    });
    let steps = steps.collect();
    if thinned {
        omitted.push("Only the lowest and highest points of the stock are drawn.".to_owned());
    }
    steps
}

fn encoded(points: &[(u64, i64)]) -> String {
    let mut column = Column::default();
    let mut before_ns = 0;
    for (at_ns, value) in points {
        column.push(at_ns - before_ns);
        before_ns = *at_ns;
        column.push_signed(*value);
    }
    column.text()
}

/// Reduces the points to the first, the lowest, the highest and the last of each interval, so that all of them can be
/// distinguished.
fn thin(points: &[(u64, i64)]) -> Vec<(u64, i64)> {
    if points.len() <= MAX_POINTS {
        return points.to_vec();
    }
    let mut thinned = Vec::with_capacity(MAX_POINTS);
    for part in points.chunks(points.len().div_ceil(MAX_POINTS / 4)) {
        let value = |index: &usize| part[*index].1;
        let lowest = (0..part.len()).min_by_key(value).unwrap_or(0);
        let highest = (0..part.len()).max_by_key(value).unwrap_or(0);
        let mut indices = vec![0, lowest, highest, part.len() - 1];
        indices.sort_unstable();
        indices.dedup();
        thinned.extend(indices.into_iter().map(|index| part[index]));
    }
    thinned
}

/// Returns the fencing tokens, or `None` if the lock issues none.
pub(super) fn fences(timeline: &Timeline<'_>, omitted: &mut Vec<String>) -> Option<Fences> {
    let stale = stale_tokens(timeline);
    let stale: HashSet<u64> = stale.iter().map(|stale| stale.op).collect();
    let holds = timeline.holds().iter();
    let mut points: Vec<(u64, u64, bool)> = holds
        .filter_map(|hold| Some((hold.begin_ns, hold.fence?, stale.contains(&hold.op))))
        .collect();
    let low = points.iter().map(|point| point.1).min()?;
    let high = points.iter().map(|point| point.1).max()?;
    if points.len() > MAX_POINTS {
        omitted
            .push("Only some fencing tokens are drawn, but all that did not increase.".to_owned());
        let every = points.len().div_ceil(MAX_POINTS / 2);
        let mut index = 0;
        points.retain(|point| {
            index += 1;
            index % every == 1 || point.2
        });
        points.truncate(MAX_POINTS);
    }
    let mut column = Column::default();
    let mut before_ns = 0;
    for (at_ns, fence, stale) in points {
        column.push(at_ns - before_ns);
        before_ns = at_ns;
        column.push(fence);
        column.push(u64::from(stale));
    }
    Some(Fences {
        low,
        high,
        points: column.text(),
    })
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::html::small_history::history;

    /// Grants may arrive in an order other than that of their tokens. Such a token is not stale.
    #[test]
    fn drawn_tokens_are_stale_exactly_where_the_checker_says() {
        let request = |op| EventKind::Acquire {
            worker: op as usize - 1,
            op,
            key: 0,
            ttl_ms: 100,
            wait_ms: 0,
            intended_ns: None,
            weight: 1,
        };
        let granted = |op, fence| EventKind::Granted {
            worker: op as usize - 1,
            op,
            token: String::new(),
            fence: Some(fence),
            valid_ms: None,
            elapsed_ms: None,
        };
        let stale = |fence| {
            let history = history(vec![
                (1, request(1)),
                (2, request(2)),
                (3, granted(2, 5)),
                (4, granted(1, fence)),
                (9, EventKind::Refused { worker: 0, op: 9 }),
            ]);
            let drawn = fences(&Timeline::new(&history), &mut Vec::new()).unwrap();
            let points = STANDARD.decode(drawn.points).unwrap();
            points.chunks(3).map(|point| point[2]).collect::<Vec<u8>>()
        };
        assert_eq!(
            stale(4),
            [0, 0],
            "both requests were sent before either grant arrived"
        );
        assert_eq!(stale(5), [0, 1], "the same token twice");
    }

    #[test]
    fn thinning_keeps_the_lowest_and_highest_points() {
        let mut points: Vec<(u64, i64)> = (0..100_000).map(|at| (at, (at % 7) as i64)).collect();
        points[54_321].1 = -3;
        points[77_777].1 = 99;
        let thinned = thin(&points);
        assert!(thinned.len() <= MAX_POINTS, "{}", thinned.len());
        assert!(thinned.contains(&(54_321, -3)) && thinned.contains(&(77_777, 99)));
        assert_eq!(
            (thinned[0], thinned[thinned.len() - 1]),
            (points[0], points[99_999])
        );
        assert!(thinned.is_sorted_by_key(|point| point.0));
    }
}
