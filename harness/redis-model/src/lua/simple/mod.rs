//! Scripts that are simple enough to be carried out without Lua.
//!
//! Most scripts of locks compare a value and then give a command or two. For those a Lua state is
//! much machinery: half the cost of a simulated command was spent on the way into Lua and back. So
//! a script that stays within a small part of the language is read once into a [`Program`], and
//! carried out directly. Whatever else a script uses, even something as small as an escape in a
//! string, sends it to Lua as a whole: nothing is read here that is not understood completely.
//!
//! That both ways give the same replies, errors with their lines included, is held by
//! `tests/model_scripts.rs`.

mod read;
mod run;

/// A script that needs no Lua.
#[derive(Debug)]
pub(crate) struct Program(Block);

/// Statements in order.
type Block = Vec<Statement>;

#[derive(Debug)]
enum Statement {
    /// A new local variable; its place is the number of those before it.
    Local(Expression),
    Call(Call),
    /// Conditions with their blocks, in order; an `else` has the condition `true`.
    If(Vec<(Expression, Block)>),
    Return(Option<Expression>),
}

#[derive(Debug)]
enum Expression {
    Nil,
    Boolean(bool),
    Number(f64),
    Text(Vec<u8>),
    /// Of `KEYS`, counted from zero.
    Key(usize),
    /// Of `ARGV`, counted from zero.
    Argument(usize),
    Local(usize),
    Call(Call),
    Not(Box<Expression>),
    And(Box<(Expression, Expression)>),
    Or(Box<(Expression, Expression)>),
    Equal(Box<(Expression, Expression)>),
    Differ(Box<(Expression, Expression)>),
}

/// `redis.call(...)`.
#[derive(Debug)]
struct Call {
    words: Vec<Expression>,
    /// Where it stands, for the text of errors.
    line: u32,
}
