//! Safe file and directory names for arbitrary text.

use std::collections::HashSet;

/// Maximum length of a name that [`Names`] returns, so that every file system accepts it with its extension.
const MAX_NAME_LENGTH: usize = 100;
/// Maximum length of a slug without its hash.
const MAX_SLUG_LENGTH: usize = 60;

/// Generates names that are unique, even on a file system that ignores case.
#[derive(Debug, Default)]
pub struct Names(HashSet<String>);

impl Names {
    /// Returns a name made of these parts that contains only letters, digits and `.`, `_`, `-`, `,`, `=`.
    ///
    /// The name is never empty, never hidden and never a path. A repeated name gets a number.
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

/// Returns a name that is valid as one path component on any file system and depends on `name` alone. If it
/// differs from `name`, a hash is appended, so that no two names share a slug.
pub fn slug(name: &str) -> String {
    let plain = plain(name, MAX_SLUG_LENGTH);
    // Capital letters count as changed, because some file systems ignore case.
    if plain == name && !plain.is_empty() && !plain.contains(|c: char| c.is_ascii_uppercase()) {
        return plain;
    }
    format!("{plain}-{:08x}", hash(name))
}

/// Replaces every sequence of other characters with one `-`, and truncates the text to `max` characters.
fn plain(text: &str, max: usize) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || "._-,=".contains(c) {
            plain.push(c);
        } else if !plain.ends_with('-') {
            plain.push('-');
        }
    }
    let plain = plain.trim_matches(['-', '.']);
    plain.chars().take(max).collect()
}

/// Computes the FNV-1a hash.
fn hash(text: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811c_9dc5, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_stay_in_their_directory() {
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
    fn plain_slugs_are_unchanged_and_others_are_unique() {
        assert_eq!(slug("set-nx-px"), "set-nx-px");
        // A directory that an earlier version created must still be found.
        assert_eq!(slug("exec:python3 a.py"), "exec-python3-a.py-a450b767");
        let unusual = [
            "exec:python3 a.py",
            "exec:python3/a.py",
            "..",
            "",
            "A",
            "锁",
            "/etc/passwd",
        ];
        let slugs: std::collections::BTreeSet<String> =
            unusual.iter().map(|name| slug(name)).collect();
        assert_eq!(slugs.len(), unusual.len(), "{slugs:?}");
        for one in &slugs {
            assert!(
                !one.contains(['/', ':', ' ']) && !one.starts_with('.'),
                "{one}"
            );
        }
        assert!(slug(&"x".repeat(500)).len() <= 70);
    }
}
