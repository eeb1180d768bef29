//! Ranges of positions, as in `LRANGE`.

/// Resolves a range of positions. A negative position counts from the end. Returns `None` if the range is empty.
pub(super) fn index_range(start: i64, end: i64, len: usize) -> Option<(usize, usize)> {
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    let from_start = |place: i64| {
        if place < 0 {
            place.saturating_add(len)
        } else {
            place
        }
    };
    let start = from_start(start).max(0);
    let end = from_start(end).min(len - 1);
    if start > end || start >= len {
        return None;
    }
    Some((usize::try_from(start).ok()?, usize::try_from(end).ok()?))
}
