//! The execution of simple scripts.

use std::borrow::Cow;

use super::super::super::Reply;
use super::super::super::number::general_17;
use super::super::super::reply::Refusal;
use super::super::call::{self, NOT_WORDS};
use super::super::convert::{located, one_line, truncate};
use super::super::{Caller, Run, State};
use super::{Call, Expression, Program, Statement};

/// The value of a variable.
#[derive(Debug, Clone)]
enum Value<'a> {
    Nil,
    Boolean(bool),
    Number(f64),
    Text(Cow<'a, [u8]>),
    /// A table, which is equal only to itself. The number identifies the table.
    Table(u32, Reply),
}

/// The way in which a block ended.
enum BlockEnd<'a> {
    Completed,
    Returned(Value<'a>),
}

/// An error that a command raised, and its position.
struct Raised {
    why: Refusal,
    line: u32,
}

struct Runner<'a> {
    state: &'a mut State,
    caller: &'a mut Caller,
    keys: &'a [&'a [u8]],
    argv: &'a [&'a [u8]],
    locals: Vec<Value<'a>>,
    tables: u32,
}

impl Program {
    /// Executes the program on a server's memory.
    pub(in crate::lua) fn run(
        &self,
        state: &mut State,
        caller: &mut Caller,
        run: &Run<'_>,
    ) -> Reply {
        let mut runner = Runner {
            state,
            caller,
            keys: run.keys,
            argv: run.argv,
            locals: Vec::new(),
            tables: 0,
        };
        match runner.block(&self.0) {
            Ok(BlockEnd::Completed) => Reply::Nil,
            Ok(BlockEnd::Returned(value)) => value.into_reply(),
            Err(Raised { why, line }) => {
                let text = Refusal::quote(why.0.as_bytes(), usize::MAX);
                Reply::Error(located(&text, run.name, line.into()).into())
            }
        }
    }
}

impl<'a> Runner<'a> {
    fn block(&mut self, block: &'a [Statement]) -> Result<BlockEnd<'a>, Raised> {
        let outside = self.locals.len();
        for statement in block {
            let end = self.statement(statement)?;
            if let BlockEnd::Returned(_) = end {
                return Ok(end);
            }
        }
        self.locals.truncate(outside);
        Ok(BlockEnd::Completed)
    }

    fn statement(&mut self, statement: &'a Statement) -> Result<BlockEnd<'a>, Raised> {
        match statement {
            Statement::Local(value) => {
                let value = self.value(value)?;
                self.locals.push(value);
            }
            Statement::Call(call) => drop(self.call(call)?),
            Statement::If(branches) => {
                for (condition, block) in branches {
                    if self.value(condition)?.is_true() {
                        return self.block(block);
                    }
                }
            }
            Statement::Return(None) => return Ok(BlockEnd::Returned(Value::Nil)),
            Statement::Return(Some(value)) => return Ok(BlockEnd::Returned(self.value(value)?)),
        }
        Ok(BlockEnd::Completed)
    }

    fn value(&mut self, expression: &'a Expression) -> Result<Value<'a>, Raised> {
        Ok(match expression {
            Expression::Nil => Value::Nil,
            Expression::Boolean(truth) => Value::Boolean(*truth),
            Expression::Number(number) => Value::Number(*number),
            Expression::Text(text) => Value::Text(Cow::Borrowed(text)),
            Expression::Key(place) => Value::list_element(self.keys, *place),
            Expression::Argument(place) => Value::list_element(self.argv, *place),
            Expression::Local(place) => self.locals[*place].clone(),
            Expression::Call(call) => {
                let reply = self.call(call)?;
                self.tables += 1;
                Value::from_reply(reply, self.tables)
            }
            Expression::Not(operand) => Value::Boolean(!self.value(operand)?.is_true()),
            Expression::And(both) => match self.value(&both.0)? {
                left if left.is_true() => self.value(&both.1)?,
                left => left,
            },
            Expression::Or(both) => match self.value(&both.0)? {
                left if left.is_true() => left,
                _ => self.value(&both.1)?,
            },
            Expression::Equal(both) => {
                Value::Boolean(self.value(&both.0)?.equals(&self.value(&both.1)?))
            }
            Expression::Differ(both) => {
                Value::Boolean(!self.value(&both.0)?.equals(&self.value(&both.1)?))
            }
        })
    }

    /// Returns an argument that can be used without evaluation, as nearly all arguments can. Otherwise returns `None`.
    fn given(&self, expression: &'a Expression) -> Option<&'a [u8]> {
        match expression {
            Expression::Text(text) => Some(text),
            Expression::Key(place) => self.keys.get(*place).copied(),
            Expression::Argument(place) => self.argv.get(*place).copied(),
            _ => None,
        }
    }

    /// Returns the arguments of a command, or `None` if one of the values cannot be an argument.
    fn words(&mut self, call: &'a Call) -> Result<Option<Vec<Cow<'a, [u8]>>>, Raised> {
        let words = call.words.iter().map(|word| match self.given(word) {
            Some(given) => Ok(Some(Cow::Borrowed(given))),
            None => Ok(self.value(word)?.into_word()),
        });
        let words: Result<Vec<_>, _> = words.collect();
        Ok(words?.into_iter().collect())
    }

    fn call(&mut self, call: &'a Call) -> Result<Reply, Raised> {
        let raised = |why| Raised {
            why,
            line: call.line,
        };
        // Commands with more arguments are rare.
        let mut few: [&[u8]; 8] = [&[]; 8];
        let mut places = few.iter_mut().zip(&call.words);
        let are_given = call.words.len() <= 8
            && places.all(|(place, word)| self.given(word).map(|given| *place = given).is_some());
        let (words, borrowed);
        let args = if are_given {
            &few[..call.words.len()]
        } else {
            words = self.words(call)?.ok_or_else(|| raised(NOT_WORDS))?;
            borrowed = words.iter().map(AsRef::as_ref).collect::<Vec<_>>();
            &borrowed[..]
        };
        match call::dispatch(self.state, self.caller, args).map_err(raised)? {
            Reply::Error(text) => Err(raised(Refusal(text))),
            reply => Ok(reply),
        }
    }
}

impl<'a> Value<'a> {
    fn list_element(list: &[&'a [u8]], place: usize) -> Value<'a> {
        list.get(place)
            .map_or(Value::Nil, |word| Value::Text(Cow::Borrowed(word)))
    }

    /// Converts a reply for a script.
    fn from_reply(reply: Reply, table: u32) -> Value<'a> {
        match reply {
            Reply::Int(number) => Value::Number(number as f64),
            Reply::Bulk(bytes) | Reply::Verbatim(_, bytes) => Value::Text(Cow::Owned(bytes)),
            Reply::Double(text) => Value::Text(Cow::Owned(text.into_bytes())),
            Reply::Nil | Reply::NilArray | Reply::Blocked => Value::Boolean(false),
            reply => Value::Table(table, reply),
        }
    }

    fn is_true(&self) -> bool {
        !matches!(self, Value::Nil | Value::Boolean(false))
    }

    fn equals(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Value::Nil, Value::Nil) => true,
            (Value::Boolean(one), Value::Boolean(two)) => one == two,
            (Value::Number(one), Value::Number(two)) => one == two,
            (Value::Text(one), Value::Text(two)) => one == two,
            (Value::Table(one, _), Value::Table(two, _)) => one == two,
            _ => false,
        }
    }

    /// Converts the value to an argument of a command.
    fn into_word(self) -> Option<Cow<'a, [u8]>> {
        match self {
            Value::Text(text) => Some(text),
            Value::Number(number) => Some(Cow::Owned(number_text(number).into_bytes())),
            _ => None,
        }
    }

    /// Converts the value to the reply of the script.
    fn into_reply(self) -> Reply {
        match self {
            Value::Text(text) => Reply::Bulk(text.into_owned()),
            Value::Boolean(true) => Reply::Int(1),
            Value::Number(number) => Reply::Int(truncate(number)),
            Value::Table(_, reply) => returned(reply),
            Value::Nil | Value::Boolean(false) => Reply::Nil,
        }
    }
}

/// Formats a number as an argument. Whole numbers become integers, as in the Lua binding.
fn number_text(number: f64) -> String {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if number.fract() == 0.0 && (-LIMIT..LIMIT).contains(&number) {
        (number as i64).to_string()
    } else {
        general_17(number)
    }
}

/// Changes a reply that a script returns in the same way as a conversion to a Lua value and back would.
fn returned(reply: Reply) -> Reply {
    let text = |text: &str| one_line(&Refusal::quote(text.as_bytes(), usize::MAX));
    match reply {
        Reply::Simple(status) => Reply::Simple(text(&status).into()),
        Reply::Error(why) => Reply::Error(text(&why).into()),
        Reply::Array(items) | Reply::Set(items) | Reply::Push(items) | Reply::Several(items) => {
            Reply::Array(items.into_iter().map(returned).collect())
        }
        Reply::Map(pairs) => {
            let items = pairs.into_iter().flat_map(|(key, value)| [key, value]);
            Reply::Array(items.map(returned).collect())
        }
        plain => Value::from_reply(plain, 0).into_reply(),
    }
}
