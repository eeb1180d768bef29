//! Strings in JSON: quotation and escapes.

/// Appends a string quoted as by `cjson`, which escapes slashes and control characters.
pub(super) fn quote(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for &byte in text {
        match byte {
            b'"' | b'\\' | b'/' => out.extend([b'\\', byte]),
            8 => out.extend(b"\\b"),
            b'\t' => out.extend(b"\\t"),
            b'\n' => out.extend(b"\\n"),
            12 => out.extend(b"\\f"),
            b'\r' => out.extend(b"\\r"),
            0..32 | 127 => out.extend(format!("\\u{byte:04x}").bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// Parses a string whose opening quote precedes `begin`. Returns the string's contents and its end, or `None` if it is
/// invalid.
pub(super) fn unquote(text: &[u8], begin: usize) -> Option<(Vec<u8>, usize)> {
    let (mut unquoted, mut at) = (Vec::new(), begin);
    loop {
        match *text.get(at)? {
            b'"' => return Some((unquoted, at + 1)),
            0 => return None,
            b'\\' => at = escape(text, at, &mut unquoted)?,
            byte => {
                unquoted.push(byte);
                at += 1;
            }
        }
    }
}

/// Parses an escape, and returns its end.
fn escape(text: &[u8], at: usize, unquoted: &mut Vec<u8>) -> Option<usize> {
    let byte = match *text.get(at + 1)? {
        byte @ (b'"' | b'\\' | b'/') => byte,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unicode(text, at, unquoted),
        _ => return None,
    };
    unquoted.push(byte);
    Some(at + 2)
}

/// Parses one `\u` escape, or two that form a surrogate pair, and returns their end.
fn unicode(text: &[u8], at: usize, unquoted: &mut Vec<u8>) -> Option<usize> {
    let (mut code, mut end) = (four_digits(text, at + 2)?, at + 6);
    if (0xd800..0xdc00).contains(&code) {
        if text.get(end..end + 2)? != b"\\u" {
            return None;
        }
        let low = four_digits(text, end + 2)?;
        if !(0xdc00..0xe000).contains(&low) {
            return None;
        }
        code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
        end += 6;
    }
    // Half of a surrogate pair is not a character.
    let character = char::from_u32(code)?;
    unquoted.extend(character.encode_utf8(&mut [0; 4]).bytes());
    Some(end)
}

fn four_digits(text: &[u8], at: usize) -> Option<u32> {
    let digits = text.get(at..at + 4)?;
    digits.iter().try_fold(0, |code, digit| {
        Some(code * 16 + char::from(*digit).to_digit(16)?)
    })
}
