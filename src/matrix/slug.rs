//! Names as parts of paths.

/// Longer names are cut.
const LONGEST: usize = 60;

/// A name that is one part of a path on any file system: letters, digits, `.`, `_`, `-`, `,` and
/// `=`. Where that changes the name, a hash of it follows, so that two names never meet.
pub fn slug(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-,=".contains(c);
    let mut made = String::new();
    for c in name.chars() {
        if fits(c) {
            made.push(c);
        } else if !made.ends_with('-') {
            made.push('-');
        }
    }
    let made: String = made
        .trim_matches(['-', '.'])
        .chars()
        .take(LONGEST)
        .collect();
    // Capital letters count as changed: some file systems do not tell them from small ones.
    if made == name && !made.is_empty() && !made.contains(|c: char| c.is_ascii_uppercase()) {
        return made;
    }
    format!("{made}-{:08x}", hash(name))
}

/// FNV-1a.
fn hash(text: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811c_9dc5, step)
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn plain_names_stay_and_others_are_told_apart() {
        assert_eq!(slug("set-nx-px"), "set-nx-px");
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
