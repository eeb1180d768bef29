//! Cursors of `SCAN`, and what one step returns.

use super::super::ServerVersion;
use super::super::reply::Refusal;

const INVALID: Refusal = Refusal::fixed("ERR invalid cursor");

/// Reads a cursor as C's `strtoul` does: blanks, a sign, digits, up to a zero byte.
pub(super) fn read_cursor(version: ServerVersion, text: &[u8]) -> Result<u64, Refusal> {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let since_72 = version.since_72();
    if text.is_empty() {
        return if since_72 { Err(INVALID) } else { Ok(0) };
    }
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
    let blanks = text.iter().take_while(|byte| is_blank(byte)).count();
    let (negative, digits) = match &text[blanks..] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if blanks > 0 && !since_72 || digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(INVALID);
    }
    let digits = std::str::from_utf8(digits).map_err(|_| INVALID)?;
    let number: u64 = digits.parse().map_err(|_| INVALID)?;
    // Since 7.2 a number in its plain form must not be negative, but `-00` and ` -1` wrap around.
    let plain = blanks == 0 && !digits.starts_with('0') && i64::try_from(number).is_ok();
    if negative && plain && since_72 {
        return Err(INVALID);
    }
    Ok(if negative {
        number.wrapping_neg()
    } else {
        number
    })
}

/// What one step returns, and the cursor of the next; zero at the end.
pub(super) struct Page<'a> {
    pub names: Vec<&'a [u8]>,
    pub next: u64,
}

impl<'a> Page<'a> {
    /// All names at once, in their order.
    pub(super) fn whole(names: impl Iterator<Item = &'a [u8]>) -> Page<'a> {
        Page {
            names: names.collect(),
            next: 0,
        }
    }

    /// About `count` names from this cursor on.
    pub(super) fn after(
        cursor: u64,
        count: usize,
        names: impl Iterator<Item = &'a [u8]>,
    ) -> Page<'a> {
        let hashed = names.map(|name| (hash(name), name));
        let mut hashed: Vec<_> = hashed.filter(|(hash, _)| *hash >= cursor).collect();
        hashed.sort_unstable();
        // Names with the same hash are never parted, because a cursor cannot stand between them.
        let last = hashed.get(count.saturating_sub(1)).map(|(hash, _)| *hash);
        let end = last.map_or(hashed.len(), |last| {
            hashed.partition_point(|(hash, _)| *hash <= last)
        });
        Page {
            next: hashed.get(end).map_or(0, |(hash, _)| *hash),
            names: hashed[..end].iter().map(|(_, name)| *name).collect(),
        }
    }
}

/// A number that scatters names (FNV-1a).
fn hash(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_return_every_name_once() {
        let names: Vec<Vec<u8>> = (0..100).map(|n: u32| n.to_string().into_bytes()).collect();
        let mut seen = Vec::new();
        let mut cursor = 0;
        for step in 0.. {
            let page = Page::after(cursor, 7, names.iter().map(Vec::as_slice));
            seen.extend(page.names);
            cursor = page.next;
            if cursor == 0 {
                assert_eq!(step, 14);
                break;
            }
        }
        seen.sort_unstable();
        let mut all: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        all.sort_unstable();
        assert_eq!(seen, all);
    }
}
