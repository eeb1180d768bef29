//! The adapter of a library is short: the module beside it does the rest.

use std::path::Path;

/// The adapters of lab/pages/findings.md, without their modules.
const ADAPTERS: &[&str] = &[
    "python/redis_py_lock.py",
    "python/pottery/pottery_redlock.py",
    "python/python-redis-lock/python_redis_lock.py",
    "python/redlock-py/redlock_py.py",
    "rust/rslock/src/main.rs",
];

const LONGEST_ADAPTER: usize = 15;

/// How many lines of an adapter are code of its own: no imports, no comments, no start of the program.
fn own_lines(text: &str) -> usize {
    let is_start = |line: &&str| line.starts_with("if __name__") || line.starts_with("fn main");
    let mut in_docstring = false;
    let counts = |line: &&str| {
        let line = line.trim();
        let quotes = line.matches("\"\"\"").count();
        let was_in_docstring = in_docstring;
        in_docstring ^= quotes % 2 == 1;
        let is_import = ["import ", "from ", "use ", "mod "]
            .iter()
            .any(|word| line.starts_with(word));
        let is_comment = line.starts_with('#') || line.starts_with("//");
        !(line.is_empty() || was_in_docstring || quotes > 0 || is_import || is_comment)
    };
    let own = text.lines().take_while(|line| !is_start(line));
    own.filter(counts).count()
}

#[test]
fn the_adapter_of_a_library_is_short() {
    let adapters = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters");
    for path in ADAPTERS {
        let text = std::fs::read_to_string(adapters.join(path)).expect("the adapter can be read");
        let lines = own_lines(&text);
        assert!(
            (5..=LONGEST_ADAPTER).contains(&lines),
            "{path}: {lines} lines"
        );
    }
}

#[test]
fn only_code_of_its_own_counts() {
    let text = "#!/usr/bin/env python3\n\"\"\"Words.\n\nMore.\n\"\"\"\nimport time\n\n# Why.\nclass Mine:\n    \
        \"\"\"Words.\"\"\"\n    pass\n\nif __name__ == \"__main__\":\n    serve()\n";
    assert_eq!(own_lines(text), 2);
}
