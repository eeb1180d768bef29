//! The parser of simple scripts, which also decides which scripts Lua must run.

use super::{Block, Call, Expression, Program, Statement};

impl Program {
    /// Parses a script. Returns `None` if the script is invalid or uses an unsupported feature; Lua must then execute
    /// it.
    pub(crate) fn read(text: &[u8]) -> Option<Program> {
        let words = words(text)?;
        if words.len() > MAX_WORDS {
            return None;
        }
        let mut reader = Reader {
            words,
            position: 0,
            locals: Vec::new(),
            depth: 0,
        };
        let block = reader.block()?;
        reader.at_end().then_some(Program(block))
    }
}

/// Maximum nesting of a simple script. Lua, which has other limits, executes scripts with deeper nesting.
const DEPTH: u32 = 20;

/// Maximum number of words of a simple script; Lua executes longer scripts. An expression such as `a or b or c` is
/// nested as deeply as it has words, and so is the recursion that executes and frees the expression.
const MAX_WORDS: usize = 1000;

/// Maximum number of local variables of a simple script. Lua's own limit is 200.
const LOCALS: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Word<'a> {
    Name(&'a str),
    Text(&'a [u8]),
    Number(u32),
    Sign(&'a str),
}

/// Names that a local variable must not have: keywords and predefined names.
const TAKEN: [&str; 24] = [
    "ARGV", "KEYS", "and", "break", "do", "else", "elseif", "end", "false", "for", "function",
    "if", "in", "local", "nil", "not", "or", "redis", "repeat", "return", "then", "true", "until",
    "while",
];

const SIGNS: [&str; 10] = ["==", "~=", "=", "(", ")", "[", "]", ",", ";", "."];

/// Returns the tokens of the script, each with its line.
fn words(text: &[u8]) -> Option<Vec<(Word<'_>, u32)>> {
    let text = std::str::from_utf8(text).ok()?;
    if text.contains('\0') {
        return None;
    }
    let (mut rest, mut line) = (text, 1);
    let mut words = Vec::new();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\n' => {
                line += 1;
                1
            }
            ' ' | '\t' => 1,
            '-' if rest.starts_with("--") && !rest.starts_with("--[") => {
                rest.find('\n').unwrap_or(rest.len())
            }
            '"' | '\'' => {
                let body = &rest[1..];
                let end = body.find(first)?;
                let body = &body[..end];
                if body.contains(['\\', '\n', '\r']) {
                    return None;
                }
                words.push((Word::Text(body.as_bytes()), line));
                end + 2
            }
            '0'..='9' => {
                let digits = leading(rest, |character| {
                    character.is_ascii_alphanumeric() || character == '.'
                });
                words.push((Word::Number(number(digits)?), line));
                digits.len()
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let name = leading(rest, |character| {
                    character.is_ascii_alphanumeric() || character == '_'
                });
                words.push((Word::Name(name), line));
                name.len()
            }
            _ => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
                words.push((Word::Sign(sign), line));
                sign.len()
            }
        };
        rest = &rest[length..];
    }
    Some(words)
}

fn leading(text: &str, belongs: impl Fn(char) -> bool) -> &str {
    let end = text
        .find(|character| !belongs(character))
        .unwrap_or(text.len());
    &text[..end]
}

/// Parses a decimal integer of at most nine digits.
fn number(digits: &str) -> Option<u32> {
    let plain = digits.len() <= 9 && digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

struct Reader<'a> {
    words: Vec<(Word<'a>, u32)>,
    position: usize,
    /// Local variables in scope, innermost last.
    locals: Vec<&'a str>,
    depth: u32,
}

impl<'a> Reader<'a> {
    fn at_end(&self) -> bool {
        self.position == self.words.len()
    }

    fn peek(&self) -> Option<Word<'a>> {
        self.words.get(self.position).map(|(word, _)| *word)
    }

    fn next(&mut self) -> Option<Word<'a>> {
        let word = self.peek();
        self.position += 1;
        word
    }

    /// Consumes the token if it is the next one.
    fn found(&mut self, wanted: Word<'_>) -> bool {
        let found = self.peek() == Some(wanted);
        self.position += usize::from(found);
        found
    }

    fn sign(&mut self, sign: &str) -> Option<()> {
        self.found(Word::Sign(sign)).then_some(())
    }

    fn keyword(&mut self, name: &str) -> Option<()> {
        self.found(Word::Name(name)).then_some(())
    }

    fn ends_block(&self) -> bool {
        match self.peek() {
            None => true,
            Some(Word::Name(name)) => ["end", "else", "elseif"].contains(&name),
            Some(_) => false,
        }
    }

    fn block(&mut self) -> Option<Block> {
        self.depth += 1;
        let outside = self.locals.len();
        let mut block = Vec::new();
        while !self.ends_block() {
            let statement = self.statement().filter(|_| self.depth <= DEPTH)?;
            let last = matches!(statement, Statement::Return(_));
            block.push(statement);
            let _ = self.found(Word::Sign(";"));
            if last && !self.ends_block() {
                return None;
            }
        }
        self.locals.truncate(outside);
        self.depth -= 1;
        Some(block)
    }

    fn statement(&mut self) -> Option<Statement> {
        match self.peek()? {
            Word::Name("local") => {
                self.position += 1;
                let Word::Name(name) = self.next()? else {
                    return None;
                };
                if TAKEN.contains(&name) || self.locals.len() == LOCALS {
                    return None;
                }
                self.sign("=")?;
                // The name is not yet in scope in its own initialiser.
                let value = self.expression()?;
                self.locals.push(name);
                Some(Statement::Local(value))
            }
            Word::Name("if") => self.branches(),
            Word::Name("return") => {
                self.position += 1;
                if self.ends_block() || self.peek() == Some(Word::Sign(";")) {
                    return Some(Statement::Return(None));
                }
                Some(Statement::Return(Some(self.expression()?)))
            }
            Word::Name("redis") => Some(Statement::Call(self.call()?)),
            _ => None,
        }
    }

    fn branches(&mut self) -> Option<Statement> {
        let mut branches = Vec::new();
        loop {
            // Skip the `if` or `elseif`.
            self.position += 1;
            let condition = self.expression()?;
            self.keyword("then")?;
            branches.push((condition, self.block()?));
            if self.peek() != Some(Word::Name("elseif")) {
                break;
            }
        }
        if self.found(Word::Name("else")) {
            branches.push((Expression::Boolean(true), self.block()?));
        }
        self.keyword("end")?;
        Some(Statement::If(branches))
    }

    fn expression(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let mut left = self.conjunction()?;
        while self.found(Word::Name("or")) {
            left = Expression::Or(Box::new((left, self.conjunction()?)));
        }
        self.depth -= 1;
        Some(left)
    }

    fn conjunction(&mut self) -> Option<Expression> {
        let mut left = self.comparison()?;
        while self.found(Word::Name("and")) {
            left = Expression::And(Box::new((left, self.comparison()?)));
        }
        Some(left)
    }

    fn comparison(&mut self) -> Option<Expression> {
        let mut left = self.operand()?;
        loop {
            if self.found(Word::Sign("==")) {
                left = Expression::Equal(Box::new((left, self.operand()?)));
            } else if self.found(Word::Sign("~=")) {
                left = Expression::Differ(Box::new((left, self.operand()?)));
            } else {
                return Some(left);
            }
        }
    }

    fn operand(&mut self) -> Option<Expression> {
        let Word::Name(name) = self.peek()? else {
            return self.literal();
        };
        if name == "redis" {
            return Some(Expression::Call(self.call()?));
        }
        self.position += 1;
        Some(match name {
            "nil" => Expression::Nil,
            "true" => Expression::Boolean(true),
            "false" => Expression::Boolean(false),
            "not" => {
                self.depth += 1;
                let operand = self.operand().filter(|_| self.depth <= DEPTH)?;
                self.depth -= 1;
                Expression::Not(Box::new(operand))
            }
            "KEYS" => Expression::Key(self.index()?),
            "ARGV" => Expression::Argument(self.index()?),
            local => {
                let place = self.locals.iter().rposition(|known| *known == local)?;
                Expression::Local(place)
            }
        })
    }

    fn literal(&mut self) -> Option<Expression> {
        match self.next()? {
            Word::Text(text) => Some(Expression::Text(text.to_vec())),
            Word::Number(number) => Some(Expression::Number(f64::from(number))),
            Word::Sign("(") => {
                let inner = self.expression()?;
                self.sign(")")?;
                Some(inner)
            }
            _ => None,
        }
    }

    /// Parses an index such as `[1]`, and returns it counted from zero.
    fn index(&mut self) -> Option<usize> {
        self.sign("[")?;
        let Word::Number(number) = self.next()? else {
            return None;
        };
        self.sign("]")?;
        usize::try_from(number).ok()?.checked_sub(1)
    }

    fn call(&mut self) -> Option<Call> {
        let line = self.words.get(self.position)?.1;
        self.keyword("redis")?;
        self.sign(".")?;
        self.keyword("call")?;
        // Lua requires the parenthesis to be on the same line as the end of the name, and reports this line in errors.
        if self.words.get(self.position)?.1 != line {
            return None;
        }
        self.sign("(")?;
        let mut words = vec![self.expression()?];
        while self.found(Word::Sign(",")) {
            words.push(self.expression()?);
        }
        self.sign(")")?;
        Some(Call { words, line })
    }
}

#[cfg(test)]
mod tests {
    use super::Program;

    fn is_simple(text: &str) -> bool {
        Program::read(text.as_bytes()).is_some()
    }

    #[test]
    fn scripts_of_locks_are_simple() {
        assert!(is_simple(
            "-- Ours?\nif redis.call('GET', KEYS[1]) == ARGV[1] then\n\
             return redis.call(\"DEL\", KEYS[1])\nend\nreturn 0"
        ));
        assert!(is_simple(
            "local value = redis.call('get', KEYS[1]); if not value then return nil \
             elseif value ~= ARGV[1] and (value ~= 'x' or true) then return 1 else return end"
        ));
        assert!(is_simple(""));
    }

    #[test]
    fn deeply_nested_code_goes_to_lua() {
        for (begin, middle, end) in [
            ("return ", "not ", "1"),
            ("return 1", " or 1", ""),
            ("return 1", " == 1", ""),
            ("", "if 1 then ", ""),
            ("return ", "(", ""),
        ] {
            let text = [begin, &middle.repeat(200_000), end].concat();
            assert!(!is_simple(&text), "{middle}");
        }
        let longest = format!("return 1{}", " or 1".repeat(499));
        assert!(is_simple(&longest));
    }

    #[test]
    fn unknown_code_goes_to_lua() {
        for text in [
            "return 1 return 2",
            "return 1.5",
            "return 0x10",
            "return 'a\\n'",
            "return [[a]]",
            "--[[ a ]] return 1",
            "return #KEYS",
            "return KEYS[ARGV[1]]",
            "return KEYS[0]",
            "return {1}",
            "return redis.pcall('GET', 'a')",
            "return redis.call()",
            "redis.call\n('GET', 'a')",
            "return redis.sha1hex('a')",
            "return unknown",
            "local redis = 1 return redis",
            "local a, b = 1, 2",
            "local a",
            "a = 1",
            "if 1 then",
            "if 1 then return end end",
            "return -1",
            "return 1 + 1",
            "return 'a' .. 'b'",
            "return 1 < 2",
            "do return 1 end",
            "return \u{e9}",
        ] {
            assert!(!is_simple(text), "{text}");
        }
    }
}
