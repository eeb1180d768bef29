//! What an adapter of one language consists of: files of `adapters/`, as they stand there, and the
//! commands that make it run.

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
    /// Programs that it needs.
    pub about: &'static str,
    /// Debian packages that it needs, beside what every system has.
    pub packages: &'static [&'static str],
    /// Patterns for `.gitignore`.
    pub ignored: &'static [&'static str],
    /// The module that implements the protocol.
    pub module: &'static [Template],
    /// The lock that comes without a library, and what it needs.
    pub example: &'static [Template],
    /// Commands to be run once, before the first run.
    pub prepare: &'static [&'static str],
    /// The command that starts the adapter, in its folder.
    pub run: &'static str,
    /// Debian packages that its libraries need beside.
    pub library_packages: &'static [&'static str],
    /// Libraries whose lock can take the place of the example.
    pub libraries: &'static [Library],
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
    /// The lines of its table beside the command: on how many nodes it takes its lock, and what it claims.
    pub claims: &'static [&'static str],
}

/// Of a lock on the majority of independent nodes.
pub const NODES: &str = "nodes = 5";
/// Of a lock that renews its lease by itself.
pub const RENEWS: &str = "renews = true";
/// Of a lock that gives fencing tokens.
pub const FENCES: &str = "fences = true";

/// Files of a folder below `adapters/`: `templates!("python": "my_lock.py")`. Where the file has another name
/// there, that follows: `"Cargo.toml" from "Cargo.toml.template"`.
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
