//! Rows of the command table, and the look-up of a command.
//!
//! The table is in `commands/mod.rs`.

use std::sync::LazyLock;

use super::commands::TABLE;
use super::context::Context;
use super::reply::CommandResult;
use super::session::ClientId;
use super::state::State;
use super::{Now, Server, ServerVersion};

/// The words of a command, starting with its name.
pub(super) type Args<'a> = &'a [&'a [u8]];

/// Returns `true` if an option, such as `NX`, equals `word`, ignoring case.
pub(super) fn is_word(option: &[u8], word: &str) -> bool {
    option.eq_ignore_ascii_case(word.as_bytes())
}

/// A function that executes a command on keys or on the connection.
pub(super) type RunData = fn(&mut Context<'_>, Args<'_>) -> CommandResult;

/// A function that executes a command on the whole server, such as one that runs other commands or scripts.
pub(super) type RunWhole = fn(&mut Server, ClientId, Args<'_>, Now) -> CommandResult;

/// The function that executes a command.
#[derive(Clone, Copy)]
pub(super) enum Run {
    /// A command that scripts and transactions may call.
    Data(RunData),
    /// A command that needs the whole server.
    Whole(RunWhole),
}

/// One row of the command table, with properties that a real server reports with `COMMAND INFO`.
#[derive(Clone, Copy)]
pub(super) struct Spec {
    /// Name in lower case, as in error texts.
    pub name: &'static str,
    /// Number of words, including the name. A negative number is a minimum.
    arity: i32,
    /// Whether the command changes keys.
    pub write: bool,
    /// Whether the command is refused when memory is exhausted.
    pub denies_oom: bool,
    /// Whether the command is sent to replicas although it changes no key. Read-only scripts must not call such a
    /// command.
    pub replicated: bool,
    /// Whether scripts refuse the command.
    no_script: bool,
    /// Whether scripts refuse the command before Redis 7.2, because it may block.
    no_script_before_72: bool,
    /// Whether the command takes no options before Redis 7.0, so that its number of words is fixed.
    no_options_before_70: bool,
    /// Returns `true` for servers that have the command.
    offered: fn(ServerVersion) -> bool,
    /// The modelled subcommands. Empty for a command without subcommands.
    subcommands: &'static [Subcommand],
    pub run: Run,
}

/// The second word of a command with subcommands.
#[derive(Clone, Copy)]
pub(super) struct Subcommand {
    /// Name in lower case.
    name: &'static str,
    /// Arity as in [`Spec::arity`], including both words.
    arity: i32,
    /// Returns `true` for servers that have the subcommand.
    offered: fn(ServerVersion) -> bool,
}

/// Creates a subcommand that all servers have.
pub(super) const fn sub(name: &'static str, arity: i32) -> Subcommand {
    Subcommand {
        name,
        arity,
        offered: |_| true,
    }
}

impl Subcommand {
    /// Restricts the subcommand to some servers.
    pub(super) const fn on(mut self, offered: fn(ServerVersion) -> bool) -> Subcommand {
        self.offered = offered;
        self
    }
}

const fn row(name: &'static str, arity: i32, run: Run) -> Spec {
    Spec {
        name,
        arity,
        write: false,
        denies_oom: false,
        replicated: false,
        no_script: false,
        no_script_before_72: false,
        no_options_before_70: false,
        offered: |_| true,
        subcommands: &[],
        run,
    }
}

/// Creates a command that only reads.
pub(super) const fn read(name: &'static str, arity: i32, run: RunData) -> Spec {
    row(name, arity, Run::Data(run))
}

/// Creates a command that changes keys and never needs more memory.
pub(super) const fn write(name: &'static str, arity: i32, run: RunData) -> Spec {
    let mut spec = read(name, arity, run);
    spec.write = true;
    spec
}

/// Creates a command that changes keys and may need more memory.
pub(super) const fn grow(name: &'static str, arity: i32, run: RunData) -> Spec {
    let mut spec = write(name, arity, run);
    spec.denies_oom = true;
    spec
}

/// Creates a command that needs the whole server. Scripts cannot call it.
pub(super) const fn whole(name: &'static str, arity: i32, run: RunWhole) -> Spec {
    row(name, arity, Run::Whole(run)).no_script()
}

impl Spec {
    /// Returns `true` if servers of this version have the command.
    pub(super) fn is_of(&self, version: ServerVersion) -> bool {
        (self.offered)(version)
    }

    /// Makes scripts refuse the command.
    pub(super) const fn no_script(mut self) -> Spec {
        self.no_script = true;
        self
    }

    /// Makes scripts refuse the command before Redis 7.2. Since 7.2 scripts may call the command, which does not block
    /// in a script.
    pub(super) const fn no_script_before_72(mut self) -> Spec {
        self.no_script_before_72 = true;
        self
    }

    /// Allows options only since Redis 7.0.
    pub(super) const fn no_options_before_70(mut self) -> Spec {
        self.no_options_before_70 = true;
        self
    }

    /// Returns `true` if scripts must not call the command.
    pub(super) fn refused_in_scripts(&self, version: ServerVersion) -> bool {
        self.no_script || (self.no_script_before_72 && !version.since_72())
    }

    /// Makes the server send the command to replicas although it changes no key.
    pub(super) const fn replicated(mut self) -> Spec {
        self.replicated = true;
        self
    }

    /// Restricts the command to some servers.
    pub(super) const fn on(mut self, offered: fn(ServerVersion) -> bool) -> Spec {
        self.offered = offered;
        self
    }

    /// Adds subcommands.
    pub(super) const fn with(mut self, subcommands: &'static [Subcommand]) -> Spec {
        self.subcommands = subcommands;
        self
    }

    /// Returns the name as it appears in error texts, including the subcommand, such as `script|load`.
    pub(super) fn name_of(&self, args: Args<'_>) -> String {
        match args.get(1).and_then(|word| self.subcommand(word)) {
            Some(sub) => format!("{}|{}", self.name, sub.name),
            None => self.name.to_owned(),
        }
    }

    fn subcommand(&self, word: &[u8]) -> Option<&Subcommand> {
        let mut subcommands = self.subcommands.iter();
        subcommands.find(|sub| is_named(word, sub.name))
    }
}

/// An error in a command's words, found before their meaning is checked.
pub(super) enum Misuse<'a> {
    /// The server has no such command.
    UnknownCommand,
    /// The command has no such subcommand.
    UnknownSubcommand(&'static Spec, &'a [u8]),
    /// Too few or too many words.
    Arity(&'static Spec),
}

/// Finds the command with these words, and checks their number.
///
/// A command that the model does not support in any version is recorded, which makes the run inconclusive. A command
/// that only this version lacks is not recorded, because a real server of this version refuses the command, too.
pub(super) fn look_up<'a>(state: &mut State, args: Args<'a>) -> Result<&'static Spec, Misuse<'a>> {
    let Some(spec) = find(args[0]) else {
        state.unknown.insert(capitals(args[0]));
        return Err(Misuse::UnknownCommand);
    };
    if !spec.is_of(state.version) {
        return Err(Misuse::UnknownCommand);
    }
    let mut arity = if spec.no_options_before_70 && !state.version.since_70() {
        spec.arity.abs()
    } else {
        spec.arity
    };
    if let [_, word, ..] = args
        && !spec.subcommands.is_empty()
    {
        let sub = spec.subcommand(word);
        if sub.is_none() {
            let name = [spec.name.as_bytes(), b" ", word].concat();
            state.unknown.insert(capitals(&name));
        }
        match sub {
            Some(sub) if (sub.offered)(state.version) => arity = sub.arity,
            _ => return Err(Misuse::UnknownSubcommand(spec, word)),
        }
    }
    let least = arity.unsigned_abs() as usize;
    if args.len() == least || (arity < 0 && args.len() > least) {
        Ok(spec)
    } else {
        Err(Misuse::Arity(spec))
    }
}

fn capitals(name: &[u8]) -> String {
    String::from_utf8_lossy(name).to_ascii_uppercase()
}

fn is_named(word: &[u8], name: &str) -> bool {
    word.eq_ignore_ascii_case(name.as_bytes())
}

/// All commands by the first letter of their names, because every simulated command is looked up several times.
static BY_LETTER: LazyLock<[Vec<&Spec>; 26]> = LazyLock::new(|| {
    let mut by_letter = [const { Vec::new() }; 26];
    for spec in TABLE {
        let letter = letter(spec.name.as_bytes()).expect("each name begins with a letter");
        by_letter[letter].push(spec);
    }
    by_letter
});

/// Returns the position in the alphabet of the first letter of a name.
fn letter(name: &[u8]) -> Option<usize> {
    let letter = name.first()?.to_ascii_lowercase();
    letter
        .is_ascii_lowercase()
        .then(|| usize::from(letter - b'a'))
}

/// Finds a command of any version by its name, ignoring case.
pub(super) fn find(name: &[u8]) -> Option<&'static Spec> {
    let candidates = BY_LETTER[letter(name)?].iter();
    let mut named = candidates.filter(|spec| is_named(name, spec.name));
    named.next().copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_lower_case_and_unique() {
        for spec in TABLE {
            assert_eq!(spec.name, spec.name.to_ascii_lowercase());
            let found = find(spec.name.to_ascii_uppercase().as_bytes());
            assert_eq!(found.map(|found| found.name), Some(spec.name));
        }
    }

    /// Returns the commands of the page, in capitals: the words in backticks in the first column of the table with the
    /// heading `commands | senders`. `CLIENT ID GETNAME` has two subcommands.
    fn commands_of_the_page() -> BTreeSet<String> {
        let page = include_str!("../../../docs/redis-model.md");
        let (_, table) = page
            .split_once("| commands | senders |\n|---|---|\n")
            .expect("the page has the table");
        let rows = table.lines().take_while(|line| line.starts_with('|'));
        let cells = rows.filter_map(|row| row.split('|').nth(1));
        let quoted = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
        let containers = TABLE.iter().filter(|spec| !spec.subcommands.is_empty());
        let containers: Vec<String> = containers
            .map(|spec| spec.name.to_ascii_uppercase())
            .collect();
        quoted
            .flat_map(|names| {
                let (container, rest) = match names.split_once(' ') {
                    Some((first, rest))
                        if containers.iter().any(|container| container == first) =>
                    {
                        (format!("{first} "), rest)
                    }
                    _ => (String::new(), names),
                };
                let names = rest.split(' ').map(|name| format!("{container}{name}"));
                names.collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn page_lists_every_command_and_no_other() {
        let mut known = BTreeSet::new();
        for spec in TABLE {
            let subs = spec.subcommands.iter();
            known
                .extend(subs.map(|sub| format!("{} {}", spec.name, sub.name).to_ascii_uppercase()));
            if spec.subcommands.is_empty() {
                known.insert(spec.name.to_ascii_uppercase());
            }
        }
        assert_eq!(commands_of_the_page(), known);
    }
}
