//! The command table: what executes each command, and under which conditions.

use std::sync::LazyLock;

use super::commands;
use super::context::Context;
use super::reply::Outcome;
use super::session::ClientId;
use super::{Now, Server, ServerVersion};

/// A command's words, its name first.
pub(super) type Args<'a> = &'a [&'a [u8]];

/// What executes a command.
#[derive(Clone, Copy)]
pub(super) enum Run {
    /// Works on keys and the connection; scripts and transactions may call it.
    Data(fn(&mut Context<'_>, Args<'_>) -> Outcome),
    /// Needs the whole server: it runs other commands or scripts.
    Whole(fn(&mut Server, ClientId, Args<'_>, Now) -> Outcome),
}

/// One row of the table, with the facts that `COMMAND INFO` reports on a real server.
#[derive(Clone, Copy)]
pub(super) struct Spec {
    /// In lower case, as in error texts.
    pub name: &'static str,
    /// Number of words, including the name. Negative: at least this many.
    pub arity: i32,
    /// The same in Redis 7.0, if that differs.
    pub arity_70: i32,
    /// The same in Redis 6.2, if that differs.
    pub arity_62: i32,
    /// Changes keys.
    pub write: bool,
    /// Refused when memory is exhausted.
    pub denies_oom: bool,
    /// Changes no key, but goes to replicas: read-only scripts may not call it.
    pub replicated: bool,
    /// Refused in scripts.
    pub no_script: bool,
    /// Refused in scripts before Redis 7.2, because it may block.
    pub no_script_before_72: bool,
    /// Which servers have it.
    pub offered: fn(ServerVersion) -> bool,
    /// For a command with subcommands: those that the model knows.
    pub subcommands: &'static [Subcommand],
    pub run: Run,
}

/// The second word of a command with subcommands.
#[derive(Clone, Copy)]
pub(super) struct Subcommand {
    /// In lower case.
    pub name: &'static str,
    /// As [`Spec::arity`], including both words.
    pub arity: i32,
    /// The same in Redis 6.2, if that differs.
    pub arity_62: i32,
    /// Which servers have it.
    pub offered: fn(ServerVersion) -> bool,
    /// Changes what the server stores, although other subcommands do not.
    pub write: bool,
    /// Refused when memory is exhausted.
    pub denies_oom: bool,
}

impl Subcommand {
    /// A subcommand that all servers have.
    pub(super) const fn new(name: &'static str, arity: i32) -> Subcommand {
        Subcommand {
            name,
            arity,
            arity_62: arity,
            offered: |_| true,
            write: false,
            denies_oom: false,
        }
    }

    /// The same, which changes what the server stores.
    pub(super) const fn write(mut self) -> Subcommand {
        self.write = true;
        self
    }

    /// The same, which may need more memory too.
    pub(super) const fn grow(mut self) -> Subcommand {
        self.write = true;
        self.denies_oom = true;
        self
    }

    /// The same, on these servers only.
    pub(super) const fn on(mut self, offered: fn(ServerVersion) -> bool) -> Subcommand {
        self.offered = offered;
        self
    }

    /// The same, with another number of words in Redis 6.2.
    pub(super) const fn arity_62(mut self, arity: i32) -> Subcommand {
        self.arity_62 = arity;
        self
    }

    fn fits(&self, words: usize, version: ServerVersion) -> bool {
        let arity = match version.since_70() {
            true => self.arity,
            false => self.arity_62,
        };
        fits(arity, words)
    }
}

/// What is wrong with a command's words, before their meaning is checked.
#[derive(Debug, PartialEq)]
pub(super) enum Misuse<'a> {
    None,
    /// Too few or too many words. Names the subcommand if that is the one called wrongly.
    Arity(Option<&'static str>),
    /// No such subcommand.
    Unknown(&'a [u8]),
}

impl Spec {
    /// A command that only reads.
    pub(super) const fn read(
        name: &'static str,
        arity: i32,
        run: fn(&mut Context<'_>, Args<'_>) -> Outcome,
    ) -> Spec {
        Spec {
            name,
            arity,
            arity_70: arity,
            arity_62: arity,
            write: false,
            denies_oom: false,
            replicated: false,
            no_script: false,
            no_script_before_72: false,
            offered: |_| true,
            subcommands: &[],
            run: Run::Data(run),
        }
    }

    /// A command that changes keys and never needs more memory.
    pub(super) const fn write(
        name: &'static str,
        arity: i32,
        run: fn(&mut Context<'_>, Args<'_>) -> Outcome,
    ) -> Spec {
        let mut spec = Spec::read(name, arity, run);
        spec.write = true;
        spec
    }

    /// A command that changes keys and may need more memory.
    pub(super) const fn grow(
        name: &'static str,
        arity: i32,
        run: fn(&mut Context<'_>, Args<'_>) -> Outcome,
    ) -> Spec {
        let mut spec = Spec::write(name, arity, run);
        spec.denies_oom = true;
        spec
    }

    /// A command that needs the whole server.
    pub(super) const fn whole(
        name: &'static str,
        arity: i32,
        run: fn(&mut Server, ClientId, Args<'_>, Now) -> Outcome,
    ) -> Spec {
        Spec {
            name,
            arity,
            arity_70: arity,
            arity_62: arity,
            write: false,
            denies_oom: false,
            replicated: false,
            no_script: true,
            no_script_before_72: false,
            offered: |_| true,
            subcommands: &[],
            run: Run::Whole(run),
        }
    }

    /// The same, refused in scripts.
    pub(super) const fn no_script(mut self) -> Spec {
        self.no_script = true;
        self
    }

    /// The same, refused in scripts before Redis 7.2. Since then it does not block there.
    pub(super) const fn no_script_before_72(mut self) -> Spec {
        self.no_script_before_72 = true;
        self
    }

    /// True if scripts must not call it.
    pub(super) fn refused_in_scripts(&self, version: ServerVersion) -> bool {
        self.no_script || (self.no_script_before_72 && !version.since_72())
    }

    /// The same, which goes to replicas although it changes no key.
    pub(super) const fn replicated(mut self) -> Spec {
        self.replicated = true;
        self
    }

    /// The same, on these servers only.
    pub(super) const fn on(mut self, offered: fn(ServerVersion) -> bool) -> Spec {
        self.offered = offered;
        self
    }

    /// The same, with another number of words in Redis 7.0 and before.
    pub(super) const fn arity_70(mut self, arity: i32) -> Spec {
        self.arity_70 = arity;
        self.arity_62 = arity;
        self
    }

    /// The same, with another number of words in Redis 6.2.
    pub(super) const fn arity_62(mut self, arity: i32) -> Spec {
        self.arity_62 = arity;
        self
    }

    /// The same, with subcommands.
    pub(super) const fn with(mut self, subcommands: &'static [Subcommand]) -> Spec {
        self.subcommands = subcommands;
        self
    }

    /// Checks the number of words, and the subcommand.
    pub(super) fn check<'a>(&self, args: Args<'a>, version: ServerVersion) -> Misuse<'a> {
        if let [_, word, ..] = args
            && !self.subcommands.is_empty()
        {
            let known = self
                .subcommands
                .iter()
                .find(|sub| is_named(word, sub.name) && (sub.offered)(version));
            return match known {
                None => Misuse::Unknown(word),
                Some(sub) if sub.fits(args.len(), version) => Misuse::None,
                Some(sub) => Misuse::Arity(Some(sub.name)),
            };
        }
        let arity = if version.since_72() {
            self.arity
        } else if version.since_70() {
            self.arity_70
        } else {
            self.arity_62
        };
        if fits(arity, args.len()) {
            Misuse::None
        } else {
            Misuse::Arity(None)
        }
    }

    /// True if it changes what the server stores.
    pub(super) fn changes_keys(&self, args: Args<'_>) -> bool {
        self.write || self.subcommand(args).is_some_and(|sub| sub.write)
    }

    /// True if it is refused when memory is exhausted.
    pub(super) fn needs_memory(&self, args: Args<'_>) -> bool {
        self.denies_oom || self.subcommand(args).is_some_and(|sub| sub.denies_oom)
    }

    fn subcommand(&self, args: Args<'_>) -> Option<&Subcommand> {
        let word = args.get(1)?;
        let mut subcommands = self.subcommands.iter();
        subcommands.find(|sub| is_named(word, sub.name))
    }

    /// The name as it is in error texts: since Redis 7.0 with the subcommand, `script|load`.
    pub(super) fn name_of(&self, args: Args<'_>, version: ServerVersion) -> String {
        match self.subcommand(args).filter(|_| version.since_70()) {
            Some(sub) => format!("{}|{}", self.name, sub.name),
            None => self.name.to_owned(),
        }
    }

    /// True if another version has this subcommand.
    pub(super) fn subcommand_exists_elsewhere(&self, word: &[u8]) -> bool {
        self.subcommands.iter().any(|sub| is_named(word, sub.name))
    }
}

fn is_named(word: &[u8], name: &str) -> bool {
    word.eq_ignore_ascii_case(name.as_bytes())
}

fn fits(arity: i32, words: usize) -> bool {
    let least = arity.unsigned_abs() as usize;
    words == least || (arity < 0 && words > least)
}

/// All commands, sorted by the shape of their names, each with its name in capitals.
static TABLE: LazyLock<Vec<(Vec<u8>, Spec)>> = LazyLock::new(|| {
    let table = commands::FAMILIES.concat().into_iter();
    let mut table: Vec<_> = table
        .map(|spec| (spec.name.to_ascii_uppercase().into_bytes(), spec))
        .collect();
    table.sort_by_key(|(_, spec)| (shape(spec.name.as_bytes()), spec.name));
    table
});

/// No command has a longer name.
const LONGEST: usize = 31;

/// A key that names with the same first letter and the same length share.
fn shape(name: &[u8]) -> Option<usize> {
    let first = usize::from(name.first()?.to_ascii_lowercase());
    (name.len() <= LONGEST).then_some(first * (LONGEST + 1) + name.len())
}

/// Where the names of each shape begin in the table, and where the last ones end.
static BEGINS: LazyLock<Vec<usize>> = LazyLock::new(|| {
    let begins = |at| TABLE.partition_point(|(capitals, _)| shape(capitals) < Some(at));
    (0..=256 * (LONGEST + 1)).map(begins).collect()
});

/// Finds a command by its name, in upper or lower case.
pub(super) fn find(name: &[u8], version: ServerVersion) -> Option<&'static Spec> {
    let shape = shape(name)?;
    let mut rows = TABLE[BEGINS[shape]..BEGINS[shape + 1]].iter();
    // Nearly all names are written in capitals.
    let found = rows.find(|(capitals, spec)| name == capitals || is_named(name, spec.name));
    let (_, spec) = found?;
    (spec.offered)(version).then_some(spec)
}

/// True if another version has a command of this name: it is then known to be missing here.
pub(super) fn exists_elsewhere(name: &[u8]) -> bool {
    TABLE.iter().any(|(_, spec)| is_named(name, spec.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_and_unique() {
        for pair in TABLE.windows(2) {
            assert_ne!(pair[0].0, pair[1].0);
        }
        for (_, spec) in TABLE.iter() {
            assert_eq!(spec.name, spec.name.to_ascii_lowercase());
            assert!(spec.name.len() <= LONGEST, "{}", spec.name);
        }
    }
}
