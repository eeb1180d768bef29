//! The first line of a library of functions: `#!lua name=...`.

use super::super::reply::Refusal;

/// What the first line says, and the rest.
#[derive(Debug, PartialEq)]
pub(super) struct Header<'a> {
    pub name: Vec<u8>,
    /// From the end of the first line on, so that error texts count lines from the first one.
    pub text: &'a [u8],
}

/// Reads the first line of a library.
pub(super) fn read(code: &[u8]) -> Result<Header<'_>, Refusal> {
    const INVALID: Refusal = Refusal::fixed("ERR Invalid library metadata");
    if !code.starts_with(b"#!") {
        return Err(Refusal::fixed("ERR Missing library metadata"));
    }
    // The server reads a C string.
    let end = code.iter().position(|byte| matches!(byte, b'\n' | 0));
    let end = end.filter(|end| code[*end] == b'\n').ok_or(INVALID)?;
    let words = split(&code[..end]).ok_or(INVALID)?;
    let mut words = words.iter();
    let engine = words.next().ok_or(INVALID)?;
    let mut name = None;
    for word in words {
        let (begin, value) = word.split_at(word.len().min(NAME.len()));
        if !begin.eq_ignore_ascii_case(NAME) {
            let word = Refusal::quote(word, usize::MAX);
            return Err(Refusal::of(format!(
                "ERR Invalid metadata value given: {word}"
            )));
        }
        if name.is_some() {
            return Err(Refusal::fixed(
                "ERR Invalid metadata value, name argument was given multiple times",
            ));
        }
        name = Some(value.to_vec());
    }
    let name = name.ok_or(Refusal::fixed("ERR Library name was not given"))?;
    if !is_name(&name) {
        return Err(Refusal::fixed(BAD_LIBRARY_NAME));
    }
    let engine = engine.get(2..).unwrap_or_default();
    if !engine.eq_ignore_ascii_case(b"lua") {
        let engine = Refusal::quote(engine, usize::MAX);
        return Err(Refusal::of(format!("ERR Engine '{engine}' not found")));
    }
    let text = &code[end..];
    Ok(Header { name, text })
}

const NAME: &[u8] = b"name=";

/// What is said of a library's bad name. Redis says it of the name of a function too.
pub(super) const BAD_LIBRARY_NAME: &str = "ERR Library names can only contain letters, numbers, or \
    underscores(_) and must be at least one character long";

/// True for what may be the name of a library or a function.
pub(super) fn is_name(name: &[u8]) -> bool {
    let may_contain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    !name.is_empty() && name.iter().all(may_contain)
}

/// Splits a line into words as the server does with its configuration: a part of a word may stand in
/// quotes. `None`: a quote is open, or something follows it.
fn split(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = line.iter().copied().peekable();
    loop {
        while rest.next_if(|byte| is_blank(*byte)).is_some() {}
        if rest.peek().is_none() {
            return Some(words);
        }
        let mut word = Vec::new();
        while let Some(byte) = rest.next_if(|byte| !is_blank(*byte)) {
            if byte != b'"' && byte != b'\'' {
                word.push(byte);
                continue;
            }
            quoted(byte, &mut rest, &mut word)?;
            if rest.peek().is_some_and(|byte| !is_blank(*byte)) {
                return None;
            }
        }
        words.push(word);
    }
}

fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// Reads up to the closing quote.
fn quoted(
    quote: u8,
    rest: &mut std::iter::Peekable<impl Iterator<Item = u8>>,
    word: &mut Vec<u8>,
) -> Option<()> {
    loop {
        let byte = rest.next()?;
        if byte == quote {
            return Some(());
        }
        if byte != b'\\' {
            word.push(byte);
            continue;
        }
        match (quote, *rest.peek()?) {
            (b'\'', b'\'') => {
                rest.next();
                word.push(b'\'');
            }
            (b'\'', _) => word.push(b'\\'),
            // No name may contain what these stand for, so which byte it is does not matter.
            (_, escaped) => {
                rest.next();
                word.push(b'\\');
                word.push(escaped);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(line: &str) -> Result<String, String> {
        let code = format!("{line}\nreturn 1");
        let header = read(code.as_bytes()).map_err(|refusal| refusal.0.into_owned())?;
        assert_eq!(header.text, b"\nreturn 1");
        Ok(String::from_utf8_lossy(&header.name).into_owned())
    }

    #[test]
    fn the_name_may_be_quoted() {
        for line in [
            "#!lua name=a",
            "#!LUA  NAME=a",
            "#!lua name=\"a\"",
            "#!lua 'name=a'",
        ] {
            assert_eq!(name(line).as_deref(), Ok("a"), "{line}");
        }
    }

    #[test]
    fn other_lines_are_refused() {
        for (line, why) in [
            ("return 1", "Missing library metadata"),
            ("#!lua name=\"a", "Invalid library metadata"),
            ("#!lua name='a'b", "Invalid library metadata"),
            ("#!lua", "Library name was not given"),
            ("#!js name=a", "Engine 'js' not found"),
            ("#!lua a=b", "Invalid metadata value given: a=b"),
            ("#!lua name=a-b", &BAD_LIBRARY_NAME[4..]),
            ("#!lua name=", &BAD_LIBRARY_NAME[4..]),
        ] {
            assert_eq!(name(line), Err(format!("ERR {why}")), "{line}");
        }
    }
}
