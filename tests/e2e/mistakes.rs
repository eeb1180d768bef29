//! Mistakes of first-time users: each is refused with a message that names the correct input. Some are accepted,
//! because their meaning is clear.

use crate::running::picklock;

/// A command line, its exit code, and the words that its output must contain.
type Mistake = (&'static str, i32, &'static [&'static str]);

const AS_IN: &str = "as in `picklock scenario gc-pause --impl redlock`";

/// Names of scenarios and locks, and their place on the command line.
const NAMES: &[Mistake] = &[
    ("scenario", 2, &[AS_IN, "`picklock list` lists the names"]),
    ("scenario gc-pause", 2, &[AS_IN]),
    ("scenario --impl redlock", 2, &[AS_IN]),
    ("gc-pause", 2, &[AS_IN]),
    ("run gc-pause", 2, &[AS_IN]),
    (
        "scenario gc-pauze --impl redlock",
        2,
        &["did you mean `gc-pause`?"],
    ),
    (
        "scenario GC-Pause --impl redlock",
        2,
        &["did you mean `gc-pause`?"],
    ),
    (
        "scenario gc_pause --impl redlock",
        2,
        &["did you mean `gc-pause`?"],
    ),
    (
        "scenario 'gc pause' --impl redlock",
        2,
        &["did you mean `gc-pause`?"],
    ),
    (
        "scenario gc-pause redlock",
        2,
        &["did you mean `--impl redlock`?"],
    ),
    (
        "scenario gc-pause exec:cat",
        2,
        &["did you mean `--impl exec:cat`?"],
    ),
    (
        "scenario redlock --impl gc-pause",
        2,
        &["is a scenario: pass the lock with --impl"],
    ),
    (
        "scenario gc-pause --impl Redlock",
        2,
        &["did you mean `redlock`?"],
    ),
    (
        "scenario gc-pause --impl redlok",
        2,
        &["did you mean `redlock`?"],
    ),
    (
        "scenario gc-pause --lock redlok",
        2,
        &["did you mean `redlock`?"],
    ),
    (
        "scenario gc-pause --impl redis-lock",
        2,
        &["redislock is a library", "`picklock init --lang go"],
    ),
    (
        "scenario gc-pause --impl redlock,fenced",
        2,
        &["`picklock matrix --impl 'redlock,fenced'` tests several"],
    ),
    (
        "scenario gc-pause --impl 'red*'",
        2,
        &["`picklock matrix --impl 'red*'` tests several"],
    ),
    (
        "scenario gc-pause --impl redlock --impl fenced",
        2,
        &["`picklock matrix --impl NAME,NAME` tests several"],
    ),
    (
        "scenario missing.toml --impl redlock",
        2,
        &["missing.toml: cannot read the scenario"],
    ),
    (
        "scenario . --impl redlock",
        2,
        &["your own scenario is a path that ends in .toml"],
    ),
    (
        "gc-pauze --impl redlock",
        2,
        &["did you mean `picklock scenario gc-pause`?"],
    ),
    (
        "./mine.toml --impl redlock",
        2,
        &["did you mean `picklock scenario ./mine.toml`?"],
    ),
    (
        "redlock",
        2,
        &["did you mean `picklock scenario gc-pause --impl redlock`?"],
    ),
    (
        "test gc-pause --impl redlock",
        2,
        &["`picklock scenario NAME --impl LOCK` runs a scenario"],
    ),
    ("runs", 2, &["a similar subcommand exists: 'run'"]),
    ("explain gc-pauze", 2, &["did you mean `gc-pause`?"]),
    ("explain nothing", 2, &["`picklock explain` lists them all"]),
    ("docs nothing", 2, &["`picklock docs` lists them"]),
    ("list lock", 2, &["impls", "scenarios"]),
    ("list everything", 2, &["possible values"]),
];

/// The user's own programs.
const PROGRAMS: &[Mistake] = &[
    (
        "scenario gc-pause --impl ./my_lock.py",
        2,
        &["did you mean the program `--impl \"exec:python3 ./my_lock.py\"`?"],
    ),
    (
        "scenario gc-pause --impl my_lock.py",
        2,
        &["did you mean the program `--impl \"exec:python3 my_lock.py\"`?"],
    ),
    (
        "scenario gc-pause --impl 'python3 my_lock.py'",
        2,
        &["did you mean the program `--impl \"exec:python3 my_lock.py\"`?"],
    ),
    (
        "scenario gc-pause --impl exec:python3 my_lock.py",
        2,
        &["one word in quotes: --impl \"exec:python3 my_lock.py\""],
    ),
    (
        "scenario --impl=exec:python3 -u my_lock.py gc-pause",
        2,
        &["one word in quotes: --impl \"exec:python3 -u my_lock.py\""],
    ),
    (
        "adapter check python3 my_lock.py",
        2,
        &["one word in quotes: picklock adapter check \"python3 my_lock.py\""],
    ),
    (
        "scenario gc-pause --impl redisson",
        2,
        &["`picklock init --lang java --lib redisson redisson-lock`"],
    ),
    (
        "scenario gc-pause --impl my-lock",
        2,
        &["there is no picklock.toml", "picklock init"],
    ),
    (
        "scenario gc-pause --impl exec:",
        2,
        &["`exec:python3 my_adapter.py`"],
    ),
    (
        "scenario gc-pause --impl docker:",
        2,
        &["`docker:my-lock:1`"],
    ),
    (
        "scenario gc-pause --impl exec:./nothing --backend process",
        4,
        &["cannot start `./nothing`", "there is no shell"],
    ),
    (
        "scenario gc-pause --impl exec:cat --backend sim",
        2,
        &["choose --backend process or docker"],
    ),
    ("adapter", 2, &["check"]),
    (
        "adapter check",
        2,
        &["as in `picklock adapter check \"python3 my_adapter.py\"`"],
    ),
    (
        "adapter my_lock.py",
        2,
        &["did you mean `picklock adapter check my_lock.py`?"],
    ),
    (
        "adapter check nothing-here",
        4,
        &["cannot start `nothing-here`", "a program on PATH"],
    ),
    ("init", 2, &["as in `picklock init --lang python my-lock`"]),
    (
        "init python",
        2,
        &["as in `picklock init --lang python my-lock`"],
    ),
    (
        "init --lang ruby",
        2,
        &["possible values", "`picklock docs protocol`"],
    ),
    ("init --lang", 2, &["possible values", "python"]),
    (
        "init --lang python --lib redis",
        2,
        &["no adapter for such a library", "redis-py"],
    ),
    (
        "init --lang python --source https://example.org/p.git",
        2,
        &["a URL requires --rev"],
    ),
    ("init --lang python --rev 'a b'", 2, &["expected one word"]),
];

/// Values of flags.
const VALUES: &[Mistake] = &[
    (
        "scenario gc-pause --impl redlock --backend simulation",
        2,
        &["a similar value exists: 'sim'"],
    ),
    (
        "scenario gc-pause --impl redlock --backend k8s",
        2,
        &["possible values: auto, process"],
    ),
    (
        "scenario gc-pause --impl redlock --ttl 2",
        2,
        &["did you mean `2s` or `2ms`?"],
    ),
    (
        "scenario gc-pause --impl redlock --ttl 2000",
        2,
        &["did you mean `2000s` or `2000ms`?"],
    ),
    (
        "scenario gc-pause --impl redlock --ttl 2sec",
        2,
        &["expected a number and a unit"],
    ),
    (
        "scenario gc-pause --impl redlock --ttl 0",
        2,
        &["expected a number and a unit"],
    ),
    (
        "scenario gc-pause --impl redlock --ttl -1s",
        2,
        &["expected a number and a unit"],
    ),
    (
        "scenario gc-pause --impl redlock --workers 0",
        2,
        &["expected 1 to 2000"],
    ),
    (
        "scenario gc-pause --impl redlock --workers ten",
        2,
        &["expected a non-negative integer"],
    ),
    (
        "scenario gc-pause --impl redlock --nodes 0",
        2,
        &["expected 1 to 64"],
    ),
    (
        "scenario gc-pause --impl redlock --seed abc",
        2,
        &["expected a non-negative integer"],
    ),
    (
        "scenario gc-pause --impl redlock --seed -5",
        2,
        &["expected a non-negative integer"],
    ),
    (
        "scenario gc-pause --impl redlock --runs 5",
        2,
        &["picklock matrix", "--seeds N"],
    ),
    (
        "scenario gc-pause --impl redlock --seeds 5",
        2,
        &["picklock matrix", "--seeds N"],
    ),
    (
        "scenario gc-pause --impl redlock --noisy",
        2,
        &["unexpected argument '--noisy'"],
    ),
    (
        "scenario gc-pause --impl redlock --impl-option retries=3",
        2,
        &["the lock has retry_delay"],
    ),
    (
        "scenario gc-pause --impl redlock --impl-option retry_delay",
        2,
        &["expected KEY=VALUE"],
    ),
    (
        "scenario gc-pause --impl redlock --out",
        2,
        &["a value is required for '--out <DIR>'"],
    ),
    (
        "scenario gc-pause --impl redlock --server redis:5",
        2,
        &["expected one of redis:6.2"],
    ),
    (
        "scenario gc-pause --impl redlock --redis-server /nowhere",
        4,
        &["cannot run /nowhere"],
    ),
    (
        "scenario gc-pause --impl redlock --image redis:7 --backend process",
        2,
        &["only the backend docker uses it"],
    ),
    (
        "matrix --impl nothing --scenario calm",
        2,
        &["--impl nothing: no such lock"],
    ),
    (
        "matrix --scenario nothing",
        2,
        &["nothing: no such scenario"],
    ),
    ("matrix --scenario 'zz*'", 2, &["no name matches it"]),
    (
        "matrix --scenario 'gc_*'",
        2,
        &["no name matches it; did you mean `gc-pause`?"],
    ),
    (
        "scenario 'gc-*' --impl redlock",
        2,
        &["`picklock matrix --scenario 'gc-*'` runs several"],
    ),
    ("matrix --profile fast", 2, &["possible values: quick"]),
    ("matrix --seeds 0", 2, &["each cell must run at least once"]),
    (
        "matrix --backend sim --reference redlock",
        2,
        &["name a lock of your own"],
    ),
    ("completions", 2, &["as in `picklock completions bash`"]),
    ("completions fishy", 2, &["a similar value exists: 'fish'"]),
    ("man nothing", 2, &["the commands are scenario"]),
    ("--hepl", 2, &["a similar argument exists: '--help'"]),
];

/// Saved runs and configurations.
const FILES: &[Mistake] = &[
    ("replay", 2, &["as in `picklock replay run-1`"]),
    ("replay nowhere", 2, &["nowhere: no such file or directory"]),
    ("replay .", 2, &["it contains no run", "`--out`"]),
    ("check", 2, &["as in `picklock check run-1`"]),
    (
        "check nowhere.jsonl",
        2,
        &["nowhere.jsonl: no such file or directory"],
    ),
    ("check .", 2, &["it contains no run", "`--out`"]),
    ("log", 2, &["as in `picklock log run-1`"]),
    ("log nowhere", 2, &["nowhere: no such file or directory"]),
    ("log . --around soon", 2, &["such as 2.406s"]),
    (
        "log . --worker first",
        2,
        &["expected the number of a client"],
    ),
    ("report", 2, &["as in `picklock report run-1`"]),
    ("report nowhere", 2, &["nowhere: no such file or directory"]),
    ("report .", 2, &["name a directory written by `--out`"]),
    ("report . --format pdf", 2, &["possible values: html"]),
    (
        "gate",
        2,
        &[
            "picklock.toml: cannot read the configuration",
            "`picklock docs gate`",
        ],
    ),
    (
        "gate --config nowhere.toml",
        2,
        &["nowhere.toml: cannot read the configuration"],
    ),
    (
        "gate --update",
        2,
        &["a similar argument exists: '--update-baseline'"],
    ),
];

#[test]
fn mistakes_are_answered_with_what_to_type() {
    let mut wrong = Vec::new();
    for (line, code, words) in [NAMES, PROGRAMS, VALUES, FILES].concat() {
        let outcome = picklock(line).run();
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        let is_said = words.iter().all(|word| said.contains(word));
        if outcome.code != Some(code) || !is_said {
            wrong.push(format!("$ picklock {line}\n{words:?}\n{}", outcome.all()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The advice precedes the lists, which are long.
#[test]
fn suggestion_stands_in_the_first_line() {
    for line in [
        "scenario gc-pauze --impl redlock",
        "scenario gc-pause --impl redlok",
    ] {
        let outcome = picklock(line).run().exits(2);
        let first = outcome.stderr.lines().next().unwrap();
        assert!(first.contains("did you mean"), "{}", outcome.all());
    }
}

/// Command lines with a URL in a wrong place, or without its end.
const MISPLACED: &[&str] = &[
    "URL",
    "scenario URL --impl set-nx-px",
    "scenario calm --impl URL",
    "scenario calm --seed URL",
    "scenario calm --impl set-nx-px --server URL",
    "scenario calm --impl set-nx-px --backend process --redis-server URL",
    "matrix --redis=URL --jobs URL",
    "replay URL",
    "check URL",
    "report URL --out URL",
    "explain URL",
    "docs URL",
    "list URL",
    "gate --config URL",
    "adapter URL",
    "merge URL",
    "init --lang python --lib URL lock",
    "proxy --upstream URL",
    "proxy --upstream redis://127.0.0.1:7 --listen URL",
];

#[test]
fn password_in_a_wrong_place_is_not_repeated() {
    for url in ["redis://u:geheim@127.0.0.1:7", "redis://u:geheim"] {
        for line in MISPLACED {
            let outcome = picklock(&line.replace("URL", url)).run();
            assert!(matches!(outcome.code, Some(2 | 4)), "{}", outcome.all());
            let said = outcome.all();
            assert!(!said.contains("geheim"), "{line}\n{said}");
        }
    }
}
