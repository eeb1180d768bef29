//! The items of a reply: its lines and texts, without its nesting.

use crate::proxy::resp::scan::header;

/// A part of a reply: a line, or a text with its length.
pub(in crate::proxy) struct Item<'a> {
    pub whole: &'a [u8],
    pub bytes: &'a [u8],
    /// Whether the element is a bulk string.
    pub is_word: bool,
}

impl<'a> Item<'a> {
    /// Returns the text, or an empty string if it is not UTF-8.
    pub(in crate::proxy) fn text(&self) -> &'a str {
        std::str::from_utf8(self.bytes).unwrap_or_default()
    }
}

/// Splits a complete reply into its items, at any nesting depth.
pub(in crate::proxy) fn items(reply: &[u8]) -> Vec<Item<'_>> {
    let (mut items, mut rest) = (Vec::new(), reply);
    while !rest.is_empty() {
        // A bulk error and a verbatim string have a length, because their content may contain any bytes.
        let sized_text = match header(rest, 0, "") {
            Ok((length, begin)) if b"$!=".contains(&rest[0]) => usize::try_from(length)
                .ok()
                .map(|length| begin..begin + length)
                .filter(|text| text.end + 2 <= rest.len()),
            _ => None,
        };
        let is_word = rest[0] == b'$' && sized_text.is_some();
        // A line ends with CRLF, and may contain a line feed.
        let text = sized_text
            .unwrap_or_else(|| 1..memchr::memmem::find(rest, b"\r\n").unwrap_or(rest.len()));
        let (whole, after) = rest.split_at(rest.len().min(text.end + 2));
        items.push(Item {
            whole,
            bytes: whole.get(text).unwrap_or_default(),
            is_word,
        });
        rest = after;
    }
    items
}

/// Joins the items into a reply, with the replacements in place of the old items.
pub(in crate::proxy) fn joined(items: &[Item<'_>], new: &[Option<String>]) -> Vec<u8> {
    let mut reply = Vec::new();
    for (item, new) in items.iter().zip(new) {
        reply.extend_from_slice(new.as_ref().map_or(item.whole, String::as_bytes));
    }
    reply
}

pub(in crate::proxy) fn bulk_string(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}
