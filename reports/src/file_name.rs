//! Names of files, made from names of strangers.

use std::collections::HashSet;

/// Longer than this no name gets, so that every file system takes it with its ending.
const LONGEST: usize = 100;

/// Hands out names of which no two are the same, not even where capitals do not count.
#[derive(Debug, Default)]
pub struct Names(HashSet<String>);

impl Names {
    /// A name made of these parts, of letters, digits, `-`, `_` and `.` alone.
    ///
    /// Never empty, never hidden, never a path; taken before, it gets a number.
    pub fn take(&mut self, parts: &[&str]) -> String {
        let plain = plain(&parts.join("-"));
        let mut name = plain.clone();
        let mut number = 1;
        while !self.0.insert(name.to_lowercase()) {
            number += 1;
            name = format!("{plain}-{number}");
        }
        name
    }
}

fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        let safe = c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        match safe {
            true => plain.push(c),
            false if plain.ends_with('-') => {}
            false => plain.push('-'),
        }
        if plain.len() >= LONGEST {
            break;
        }
    }
    let plain = plain.trim_matches(['-', '.']);
    if plain.is_empty() {
        "unnamed".to_owned()
    } else {
        plain.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leaves_its_directory_or_meets_another() {
        let mut names = Names::default();
        assert_eq!(
            names.take(&["set-nx-px", "calm", "sim"]),
            "set-nx-px-calm-sim"
        );
        assert_eq!(
            names.take(&["set-nx-px", "Calm", "sim"]),
            "set-nx-px-Calm-sim-2"
        );
        assert_eq!(names.take(&["../../etc/passwd"]), "etc-passwd");
        assert_eq!(names.take(&["锁"]), "unnamed");
        assert_eq!(names.take(&["exec:python3 a.py"]), "exec-python3-a.py");
        assert_eq!(names.take(&["x".repeat(10_000).as_str()]).len(), LONGEST);
    }
}
