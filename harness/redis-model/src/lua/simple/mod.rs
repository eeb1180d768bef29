//! Scripts that are simple enough to be executed without Lua.
//!
//! Most lock scripts compare a value and then send one or two commands. For such scripts Lua is slow: the calls into
//! Lua and back took half the time of a simulated command. So a script that uses only a small part of the language is
//! parsed once into a [`Program`], which is then executed directly. If a script uses any other feature, even an escape
//! in a string, Lua executes the whole script.
//!
//! The direct execution exists only for speed. Without it, the simulated matrix of all built-in locks takes 1.5 times
//! the CPU time (7 pairs of runs), and `sweep --depth 1` of all built-in locks takes 1.6 times the CPU time (2 pairs).
//!
//! `tests/integration/scripts.rs` checks that direct execution and Lua return the same replies, including the line
//! numbers of errors.

mod read;
mod run;

/// A script that does not need Lua.
#[derive(Debug)]
pub(crate) struct Program(Block);

/// Statements in order.
type Block = Vec<Statement>;

#[derive(Debug)]
enum Statement {
    /// A new local variable. Its index is the number of variables before it.
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
    /// An element of `KEYS`, counted from zero.
    Key(usize),
    /// An element of `ARGV`, counted from zero.
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
    /// Line number, for error texts.
    line: u32,
}
