//! Safe file and directory names for arbitrary text.

use std::collections::HashSet;

/// The longest name that [`Names`] returns, so that every file system accepts it with its
/// extension.
const MAX_NAME_LENGTH: usize = 100;
/// The longest slug, without its hash.
const MAX_SLUG_LENGTH: usize = 60;

/// Returns unique names, unique even on a file system that ignores case.
#[derive(Debug, Default)]
pub struct Names(HashSet<String>);

impl Names {
    /// A name made of these parts, with letters, digits and `.`, `_`, `-`, `,`, `=` only.
    ///
    /// Never empty, never hidden, never a path. A repeated name gets a number.
    pub fn take(&mut self, parts: &[&str]) -> String {
        let mut plain = plain(&parts.join("-"), MAX_NAME_LENGTH);
        if plain.is_empty() {
            "unnamed".clone_into(&mut plain);
        }
        let mut name = plain.clone();
        let mut number = 1;
        while !self.0.insert(name.to_lowercase()) {
            number += 1;
            name = format!("{plain}-{number}");
        }
        name
    }
}

/// A name that is valid as one path component on any file system, and depends on `name` alone. If
/// it differs from `name`, a hash follows, so that two names never have the same slug.
pub fn slug(name: &str) -> String {
    let plain = plain(name, MAX_SLUG_LENGTH);
    // Capital letters count as changed, because some file systems ignore case.
    if plain == name && !plain.is_empty() && !plain.contains(|c: char| c.is_ascii_uppercase()) {
        return plain;
    }
    format!("{plain}-{:08x}", hash(name))
}

/// The text with every run of other characters replaced by one `-`, truncated.
fn plain(text: &str, longest: usize) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || "._-,=".contains(c) {
            plain.push(c);
        } else if !plain.ends_with('-') {
            plain.push('-');
        }
    }
    let plain = plain.trim_matches(['-', '.']);
    plain.chars().take(longest).collect()
}

/// FNV-1a.
fn hash(text: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811c_9dc5, step)
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
        let long = "x".repeat(10_000);
        assert_eq!(names.take(&[long.as_str()]).len(), MAX_NAME_LENGTH);
    }

    #[test]
    fn plain_slugs_stay_and_others_are_told_apart() {
        assert_eq!(slug("set-nx-px"), "set-nx-px");
        // A directory of an earlier version is still found.
        assert_eq!(slug("exec:python3 a.py"), "exec-python3-a.py-a450b767");
        let strange = [
            "exec:python3 a.py",
            "exec:python3/a.py",
            "..",
            "",
            "A",
            "锁",
            "/etc/passwd",
        ];
        let made: std::collections::BTreeSet<String> =
            strange.iter().map(|name| slug(name)).collect();
        assert_eq!(made.len(), strange.len(), "{made:?}");
        for one in &made {
            assert!(
                !one.contains(['/', ':', ' ']) && !one.starts_with('.'),
                "{one}"
            );
        }
        assert!(slug(&"x".repeat(500)).len() <= 70);
    }
}
