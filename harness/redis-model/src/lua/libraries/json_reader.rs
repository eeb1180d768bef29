//! From JSON to Lua values.

use mlua::{Lua, Table, Value};

use super::json_settings::Settings;
use super::{Arguments, Common, json_text};
use crate::lua::{fuse, lock};
use crate::number::{Leading, leading_double};

/// Deeper nesting, which a script must ask for, is left out: the real limit is that of the Lua stack.
const DEEPEST: usize = 1000;

/// One word of a JSON text.
enum Token {
    Begin(bool),
    End(bool),
    Colon,
    Comma,
    Text(Vec<u8>),
    Number(f64),
    Boolean(bool),
    Null,
    Finish,
    Fault(&'static str),
}

impl Token {
    /// Its name in errors.
    fn name(&self) -> &'static str {
        match self {
            Token::Begin(true) => "T_OBJ_BEGIN",
            Token::Begin(false) => "T_ARR_BEGIN",
            Token::End(true) => "T_OBJ_END",
            Token::End(false) => "T_ARR_END",
            Token::Colon => "T_COLON",
            Token::Comma => "T_COMMA",
            Token::Text(_) => "T_STRING",
            Token::Number(_) => "T_NUMBER",
            Token::Boolean(_) => "T_BOOLEAN",
            Token::Null => "T_NULL",
            Token::Finish => "T_END",
            Token::Fault(what) => what,
        }
    }
}

/// A table that is being filled.
enum Open {
    Array(Table, usize),
    Object(Table, mlua::String),
}

struct Reader<'a> {
    lua: &'a Lua,
    arguments: &'a Arguments<'a>,
    settings: &'a Settings,
    shared: &'a Common,
    text: &'a [u8],
    /// Behind the current token, and where it begins.
    at: usize,
    begin: usize,
    open: Vec<Open>,
}

/// What the only argument says. Without recursion: a text may be nested deeply.
pub(super) fn read(
    lua: &Lua,
    arguments: &Arguments<'_>,
    settings: &Settings,
    shared: &Common,
) -> mlua::Result<Value> {
    let text = arguments.text(1)?;
    let text = text.as_bytes();
    if text.len() >= 2 && (text[0] == 0 || text[1] == 0) {
        return Err(arguments.error("JSON parser does not support UTF-16 or UTF-32"));
    }
    fuse::charge(shared, text.len() as u64)?;
    let mut reader = Reader {
        lua,
        arguments,
        settings,
        shared,
        text: &text,
        at: 0,
        begin: 0,
        open: Vec::new(),
    };
    reader.document()
}

impl Reader<'_> {
    fn document(&mut self) -> mlua::Result<Value> {
        let mut token = self.token()?;
        loop {
            let mut value = match token {
                Token::Begin(is_object) => match self.begin(is_object)? {
                    Some(first) => {
                        token = first;
                        continue;
                    }
                    None => Value::Table(self.close()?),
                },
                Token::Text(text) => Value::String(self.lua.create_string(text)?),
                Token::Number(number) => Value::Number(number),
                Token::Boolean(is_true) => Value::Boolean(is_true),
                Token::Null => Value::NULL,
                other => return Err(self.expected("value", &other)),
            };
            // A value may end the table around it, which is a value too.
            token = loop {
                if self.open.is_empty() {
                    return match self.token()? {
                        Token::Finish => Ok(value),
                        other => Err(self.expected("the end", &other)),
                    };
                }
                match self.store(value)? {
                    Some(next) => break next,
                    None => value = Value::Table(self.close()?),
                }
            };
        }
    }

    /// Opens a table: the first token of its first value, `None` if it is empty.
    fn begin(&mut self, is_object: bool) -> mlua::Result<Option<Token>> {
        let depth = self.open.len() + 1;
        if depth > usize::try_from(self.settings.decode_depth).unwrap_or(0) {
            return Err(self.arguments.error(&format!(
                "Found too many nested data structures ({depth}) at character {}",
                self.at
            )));
        }
        if depth > DEEPEST {
            let what = "cjson.decode of more than 1000 nested values";
            return Err(fuse::not_modelled(&mut lock(self.shared), what));
        }
        let table = self.lua.create_table()?;
        let token = self.token()?;
        if is_object {
            self.open
                .push(Open::Object(table, self.lua.create_string("")?));
            return match token {
                Token::End(true) => Ok(None),
                token => self.key(token).map(Some),
            };
        }
        self.open.push(Open::Array(table, 1));
        Ok(match token {
            Token::End(false) => None,
            token => Some(token),
        })
    }

    /// Reads a key and its colon: the first token of its value.
    fn key(&mut self, token: Token) -> mlua::Result<Token> {
        let Token::Text(text) = token else {
            return Err(self.expected("object key string", &token));
        };
        if let Some(Open::Object(_, key)) = self.open.last_mut() {
            *key = self.lua.create_string(text)?;
        }
        match self.token()? {
            Token::Colon => self.token(),
            other => Err(self.expected("colon", &other)),
        }
    }

    /// Puts a value into the innermost table: the first token of the next one, `None` at its end.
    fn store(&mut self, value: Value) -> mlua::Result<Option<Token>> {
        let is_object = match self.open.last_mut() {
            Some(Open::Object(table, key)) => {
                table.raw_set(&*key, value)?;
                true
            }
            Some(Open::Array(table, place)) => {
                table.raw_seti(*place, value)?;
                *place += 1;
                false
            }
            None => return Ok(None),
        };
        match self.token()? {
            Token::End(end) if end == is_object => Ok(None),
            Token::Comma => {
                let token = self.token()?;
                match is_object {
                    true => self.key(token).map(Some),
                    false => Ok(Some(token)),
                }
            }
            other if is_object => Err(self.expected("comma or object end", &other)),
            other => Err(self.expected("comma or array end", &other)),
        }
    }

    fn close(&mut self) -> mlua::Result<Table> {
        match self.open.pop() {
            Some(Open::Array(table, _) | Open::Object(table, _)) => Ok(table),
            None => self.lua.create_table(),
        }
    }

    fn expected(&self, what: &str, found: &Token) -> mlua::Error {
        let (found, place) = (found.name(), self.begin + 1);
        let text = format!("Expected {what} but found {found} at character {place}");
        self.arguments.error(&text)
    }
}

impl Reader<'_> {
    fn token(&mut self) -> mlua::Result<Token> {
        let rest = &self.text[self.at..];
        let blanks = rest.iter().take_while(|byte| b" \t\r\n".contains(byte));
        self.at += blanks.count();
        self.begin = self.at;
        let rest = &self.text[self.at..];
        let (token, length) = match rest.first().copied().unwrap_or(0) {
            0 => (Token::Finish, 0),
            b'{' => (Token::Begin(true), 1),
            b'[' => (Token::Begin(false), 1),
            b'}' => (Token::End(true), 1),
            b']' => (Token::End(false), 1),
            b':' => (Token::Colon, 1),
            b',' => (Token::Comma, 1),
            b'"' => match json_text::unquote(self.text, self.at + 1) {
                Ok((text, end)) => (Token::Text(text), end - self.at),
                Err((what, place)) => {
                    self.begin = place;
                    (Token::Fault(what), 0)
                }
            },
            b'-' | b'0'..=b'9' if !self.settings.decode_invalid && is_invalid(rest) => {
                (Token::Fault("invalid number"), 0)
            }
            b'-' | b'0'..=b'9' => self.number(rest)?,
            _ if rest.starts_with(b"true") => (Token::Boolean(true), 4),
            _ if rest.starts_with(b"false") => (Token::Boolean(false), 5),
            _ if rest.starts_with(b"null") => (Token::Null, 4),
            _ if self.settings.decode_invalid && is_invalid(rest) => self.number(rest)?,
            _ => (Token::Fault("invalid token"), 0),
        };
        self.at += length;
        Ok(token)
    }

    fn number(&self, rest: &[u8]) -> mlua::Result<(Token, usize)> {
        match leading_double(rest) {
            Leading::None => Ok((Token::Fault("invalid number"), 0)),
            Leading::Number(number, length) => Ok((Token::Number(number), length)),
            Leading::Unknown => {
                let what = "long hexadecimal numbers in cjson.decode";
                Err(fuse::not_modelled(&mut lock(self.shared), what))
            }
        }
    }
}

/// True for a number that JSON does not know: hexadecimal, with a leading zero, infinite, no number.
fn is_invalid(rest: &[u8]) -> bool {
    let rest = match rest {
        [b'+', ..] => return true,
        [b'-', rest @ ..] => rest,
        rest => rest,
    };
    match rest {
        [b'0', next, ..] => matches!(next, b'x' | b'X' | b'0'..=b'9'),
        [first, ..] if *first <= b'9' => false,
        [a, b, c, ..] => {
            [*b"inf", *b"nan"].contains(&[*a, *b, *c].map(|it| it.to_ascii_lowercase()))
        }
        _ => false,
    }
}
