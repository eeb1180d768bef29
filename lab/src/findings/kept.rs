//! The parts of an earlier page about libraries that were not run again.

use crate::library::{Library, LibraryLock};
use picklock_reports::markdown::quoted::{code, prose};

/// Start of the line about the servers.
pub const SERVERS: &str = "Servers: ";

/// The earlier generated part of the page.
#[derive(Debug, Clone, Copy)]
pub struct Kept<'a> {
    text: &'a str,
}

impl<'a> Kept<'a> {
    /// Reads the parts of this text.
    pub fn new(text: &'a str) -> Kept<'a> {
        Kept { text }
    }

    /// Returns the row of a lock, with its line break, or an empty string if there is none.
    pub fn row(self, lock: &LibraryLock) -> String {
        let cell = format!("| {} |", code(&lock.name));
        let row = self.text.lines().find(|line| line.contains(&cell));
        row.map_or_else(String::new, |row| format!("{row}\n"))
    }

    /// Returns the section of a library, up to the next one.
    pub fn section(self, library: &Library) -> Option<String> {
        let heading = format!(
            "\n## {} {}\n",
            prose(&library.name),
            prose(&library.version)
        );
        let section = &self.text[self.text.find(&heading)? + 1..];
        let end = section.find("\n## ").unwrap_or(section.len());
        Some(format!("{}\n\n", section[..end].trim_end()))
    }

    /// Returns the line about the servers.
    pub fn servers(self) -> Option<&'a str> {
        self.text.lines().find(|line| line.starts_with(SERVERS))
    }
}
