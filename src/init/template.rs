//! The parts of an adapter in one language: files of `adapters/`, copied unchanged, and the commands that prepare and
//! start it.

use super::kind::Kind;

/// One file.
#[derive(Debug, Clone, Copy)]
pub struct Template {
    /// The path of the copy, relative to the folder of the adapter.
    pub path: &'static str,
    pub text: &'static str,
}

/// A language.
#[derive(Debug)]
pub struct Language {
    /// The value of `--lang`.
    pub name: &'static str,
    /// Other names of the language, which `--lang` accepts too.
    pub aliases: &'static [&'static str],
    /// Programs that it needs.
    pub about: &'static str,
    /// Debian packages that it needs on a standard system.
    pub packages: &'static [&'static str],
    /// Patterns for `.gitignore`.
    pub ignored: &'static [&'static str],
    /// The module that implements the protocol.
    pub module: &'static [Template],
    /// The lock that needs no library, and its supporting files.
    pub example: &'static [Template],
    /// The examples of other kinds of locks.
    pub kinds: &'static [KindExample],
    /// Commands to run once, before the first run.
    pub prepare: &'static [&'static str],
    /// The command that starts the adapter, in its folder.
    pub run: &'static str,
    /// Instructions for reporting renewals in the background, as a sentence in the imperative.
    pub renewal: &'static str,
    /// Replacements of the fields above for other surroundings. The first variant that fits applies.
    pub variants: &'static [Variant],
    /// File that makes a folder a module, and that must not be written inside another module.
    pub module_file: Option<&'static str>,
    /// Commands of CI that install the user's own packages. `{root}` is the root of the repository.
    pub install: &'static [&'static str],
    /// Additional Debian packages that its libraries need.
    pub library_packages: &'static [&'static str],
    /// Libraries whose lock can replace the example.
    pub libraries: &'static [Library],
}

/// The example of another kind of lock.
#[derive(Debug)]
pub struct KindExample {
    pub kind: Kind,
    /// The files that replace the example. The lock's own file has the name that [`Kind::in_command`] uses.
    pub files: &'static [Template],
}

impl KindExample {
    /// Returns the lines of `picklock.toml` that declare what the example does, as in [`Library`].
    pub fn declares(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::Leader => &[RENEWS, FENCES],
            Kind::Mutex | Kind::Semaphore | Kind::Rwlock | Kind::Cron => &[],
        }
    }
}

/// The example of a language for other surroundings.
#[derive(Debug)]
pub struct Variant {
    /// The surroundings to which it applies.
    pub when: When,
    /// Additional files.
    pub files: &'static [Template],
    /// As in [`Language`].
    pub packages: &'static [&'static str],
    /// As in [`Language`].
    pub prepare: &'static [&'static str],
    /// As in [`Language`].
    pub run: &'static str,
}

/// The surroundings to which a variant applies.
#[derive(Debug, Clone, Copy)]
pub enum When {
    /// The second program is installed, and the first one is not.
    Instead(&'static str, &'static str),
    /// The repository has this file in a folder above the new one.
    Below(&'static str),
}

/// A library with a lock.
#[derive(Debug)]
pub struct Library {
    /// The value of `--lib`.
    pub name: &'static str,
    /// The files that replace the example.
    pub files: &'static [Template],
    /// As in [`Language`].
    pub prepare: &'static [&'static str],
    /// As in [`Language`].
    pub run: &'static str,
    /// Further lines of its table: the number of nodes for its lock, and what it declares.
    pub declares: &'static [&'static str],
}

/// Table line for a lock on a majority of independent nodes.
pub const NODES: &str = "nodes = 5";
/// Table line for a lock that renews its lease automatically.
pub const RENEWS: &str = "renews = true";
/// Table line for a semaphore.
pub const SEMAPHORE: &str = "kind = \"semaphore\"";
/// Table line for a read/write lock.
pub const RWLOCK: &str = "kind = \"rwlock\"";
/// Table line for a lock that provides fencing tokens.
pub const FENCES: &str = "fences = true";

/// Embeds files of a folder below `adapters/`: `templates!("python": "my_lock.py")`. If the source file has a different
/// name, write `"Cargo.toml" from "Cargo.toml.template"`.
macro_rules! templates {
    (@text $folder:literal $path:literal) => {
        include_str!(concat!("../../adapters/", $folder, "/", $path))
    };
    (@text $folder:literal $path:literal $file:literal) => {
        templates!(@text $folder $file)
    };
    ($folder:literal: $($path:literal $(from $file:literal)?),+) => {
        &[$(Template {
            path: $path,
            text: templates!(@text $folder $path $($file)?),
        }),+]
    };
}
pub(super) use templates;
