//! The part of JSON that the adapter protocol needs, because Rust's standard library has no JSON. If you depend on
//! serde_json, you do not need this file.

use std::iter::Peekable;
use std::str::Chars;

/// A value. Numbers stay text, because the seed is an unsigned number of 64 bits.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Parses a text. Returns `None` if it is not JSON.
    pub fn parse(text: &str) -> Option<Json> {
        let mut parser = Parser(text.chars().peekable());
        let value = parser.value()?;
        parser.peek().is_none().then_some(value)
    }

    /// Returns a field of an object.
    pub fn field(&self, name: &str) -> Option<&Json> {
        let Json::Object(fields) = self else {
            return None;
        };
        let found = fields.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value)
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn number(&self) -> Option<u64> {
        match self {
            Json::Number(digits) => digits.parse().ok(),
            _ => None,
        }
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |items: Vec<String>| items.join(",");
        match self {
            Json::Null => write!(out, "null"),
            Json::Bool(value) => write!(out, "{value}"),
            Json::Number(digits) => write!(out, "{digits}"),
            Json::Text(text) => write!(out, "{}", quoted(text)),
            Json::List(items) => {
                write!(
                    out,
                    "[{}]",
                    list(items.iter().map(Json::to_string).collect())
                )
            }
            Json::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, value)| format!("{}:{value}", quoted(name)));
                write!(out, "{{{}}}", list(fields.collect()))
            }
        }
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

struct Parser<'a>(Peekable<Chars<'a>>);

impl Parser<'_> {
    /// Skips white space, and returns the next character without consuming it.
    fn peek(&mut self) -> Option<char> {
        while self.0.next_if(|c| c.is_ascii_whitespace()).is_some() {}
        self.0.peek().copied()
    }

    fn expect(&mut self, wanted: char) -> Option<()> {
        (self.peek()? == wanted).then(|| self.0.next())?.map(|_| ())
    }

    fn value(&mut self) -> Option<Json> {
        match self.peek()? {
            '{' => self.items('{', '}', Parser::entry).map(Json::Object),
            '[' => self.items('[', ']', Parser::value).map(Json::List),
            '"' => self.string().map(Json::Text),
            _ => self.word(),
        }
    }

    fn items<T>(
        &mut self,
        open: char,
        close: char,
        item: fn(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let mut items = Vec::new();
        self.expect(open)?;
        while self.peek()? != close {
            items.push(item(self)?);
            if self.peek()? != close {
                self.expect(',')?;
            }
        }
        self.expect(close)?;
        Some(items)
    }

    fn entry(&mut self) -> Option<(String, Json)> {
        self.peek()?;
        let name = self.string()?;
        self.expect(':')?;
        Some((name, self.value()?))
    }

    fn string(&mut self) -> Option<String> {
        let mut text = String::new();
        self.expect('"')?;
        loop {
            match self.0.next()? {
                '"' => return Some(text),
                '\\' => text.push(self.escaped()?),
                c => text.push(c),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        Some(match self.0.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let digits: String = (0..4).map_while(|_| self.0.next()).collect();
                // Surrogate halves are rejected; keys of locks do not contain them.
                char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
            }
            c => c,
        })
    }

    fn word(&mut self) -> Option<Json> {
        let mut word = String::new();
        while let Some(c) = self
            .0
            .next_if(|c| c.is_ascii_alphanumeric() || "+-.".contains(*c))
        {
            word.push(c);
        }
        match word.as_str() {
            "null" => Some(Json::Null),
            "true" | "false" => Some(Json::Bool(word == "true")),
            number => number.parse::<f64>().ok().map(|_| Json::Number(word)),
        }
    }
}
