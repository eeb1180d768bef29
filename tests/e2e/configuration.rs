//! `[impl.NAME]` of `picklock.toml`: a mistake is reported with its line, and a repro file cannot bring such a lock
//! without being trusted. `real/configured_locks.rs` runs configured locks.

use crate::running::{Outcome, picklock};

fn with(line: &str, configuration: &str) -> Outcome {
    picklock(line).file("picklock.toml", configuration).run()
}

/// Returns the output without the list of locks, which grows.
fn told(outcome: &Outcome) -> String {
    assert_eq!(outcome.code, Some(2), "{}", outcome.all());
    let lines = outcome.stderr.lines().map(|line| {
        let locks = line.split_once("the built-in locks are ");
        let after = locks.and_then(|(before, rest)| Some((before, rest.split_once(" (")?.1)));
        match after {
            Some((before, after)) => format!("{before}the built-in locks are [LOCKS] ({after}\n"),
            None => format!("{line}\n"),
        }
    });
    lines.collect()
}

#[test]
fn invalid_lock_table_is_refused_with_its_line() {
    let run = "scenario calm --backend process --impl mine";
    let mine = "[impl.mine]\ncommand = \"python3 lock.py\"\n";
    let told: Vec<String> = [
        with(run, "[impl.redlock]\ncommand = \"python3 lock.py\"\n"),
        with(run, "[impl.mine]\ncomand = \"python3 lock.py\"\n"),
        with(run, "[impl.mine]\ncommand = \"  \"\n"),
        with(run, &format!("{mine}directory = \"no/such\"\n")),
        with(run, "[impl.mime]\ncommand = \"python3 lock.py\"\n"),
        with(run, "[[cells]]\nbackends = [\"sim\"]\n"),
        picklock(run).run(),
        picklock(&format!("{run} --config other.toml")).run(),
        with("matrix --backend sim --impl mine", mine),
        with(
            "gate",
            &format!("{mine}[[cells]]\nbackends = [\"process\"]\nlocks = [\"mime\"]\n"),
        ),
    ]
    .iter()
    .map(|outcome| told(outcome).replace(outcome.home().to_str().unwrap(), "[HOME]"))
    .collect();
    insta::assert_snapshot!(told.join("\n"));
}

/// Each configuration has a mistake in the line with the password. The file is also read as a scenario, which it is
/// not.
#[test]
fn invalid_configuration_is_refused_without_its_passwords() {
    let url = "\"redis://u:geheim@127.0.0.1:7\"";
    for servers in [
        format!("redis = {url}"),
        format!("redis = [{url} \"b\"]"),
        format!("redis = [{url}"),
        format!("redis = [[{url}]]"),
        format!("redis = [{url}]\nredis = [{url}]"),
        "redis = [\"redis://u:geheim".to_owned(),
        "redis = [\"redis://u:geheim@h:x\"]".to_owned(),
        "redis = [\"redis://u:$geheim@h\"]".to_owned(),
        "password = \"geheim\"".to_owned(),
        "prefix = \"geheim\\q\"".to_owned(),
    ] {
        for line in [
            "scenario calm --impl set-nx-px --backend external",
            "scenario picklock.toml --impl set-nx-px --backend sim",
            "matrix --impl set-nx-px --scenario calm --backend external",
            "gate",
        ] {
            let outcome = with(line, &format!("[servers]\n{servers}\n")).exits(2);
            assert!(
                !outcome.all().contains("geheim"),
                "{line}\n{}",
                outcome.all()
            );
        }
    }
}

#[test]
fn a_built_in_lock_needs_no_configuration() {
    with(
        "scenario calm --impl set-nx-px --backend sim --seed 1",
        "broken",
    )
    .exits(0);
    let named = "scenario calm --impl set-nx-px --backend sim --seed 1 --config picklock.toml";
    with(named, "broken").exits(2);
}

/// The foreign file names a program, and settings that could make any program execute code.
#[test]
fn repro_starts_no_untrusted_program_and_changes_no_lock() {
    let kept = picklock("scenario calm --impl set-nx-px --backend sim --seed 5 --out run");
    let kept = kept.run().exits(0);
    let repro = kept.text_file("run/repro.toml");
    let replay = |from: &str, to: &str, line: &str| {
        assert!(repro.contains(from), "{repro}");
        let text = repro.replacen(from, to, 1);
        picklock(&format!("replay r.toml --backend process {line}"))
            .file("r.toml", &text)
            .run()
            .exits(2)
            .stderr
    };
    let name = "name = \"set-nx-px\"\n";
    let program = "name = \"exec:./lock\"\nlabel = \"mine\"\ndirectory = \"/srv/theirs\"\n";
    let version = "[lock]\n";
    let said = replay(name, program, "");
    for part in [
        "a program: ./lock",
        "its directory: /srv/theirs",
        "Nothing was started",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let environment = |variable: &str| {
        format!("[lock.environment]\n{variable} = \"/srv/evil.so\"\n\n{version}{name}")
    };
    let built_in = format!("{version}{name}");
    for (line, refused) in [
        ("", "its environment: MALLOC_CONF=/srv/evil.so"),
        ("--trust", "only a program with a label"),
    ] {
        let said = replay(&built_in, &environment("MALLOC_CONF"), line);
        assert!(said.contains(refused), "{said}");
    }
    for (table, refused) in [
        ("nodes = 0", "nodes = 0: expected 1 to 64"),
        ("nodes = 65", "nodes = 65: expected 1 to 64"),
        ("replicas = 9", "replicas = 9: expected 0 to 8"),
        (
            "directory = \"theirs\"",
            "\"theirs\": expected an absolute path",
        ),
    ] {
        let program = format!("name = \"exec:./lock\"\nlabel = \"mine\"\n{table}\n");
        let said = replay(name, &program, "--trust");
        assert!(
            said.contains("[lock]: ") && said.contains(refused),
            "{said}"
        );
    }
    let theirs = |variable: &str| environment(variable).replace(name, program);
    let said = replay(&built_in, &theirs("MALLOC_CONF"), "");
    assert!(
        said.contains("its environment: MALLOC_CONF=/srv/evil.so"),
        "{said}"
    );
    let said = replay(&built_in, &theirs("LD_PRELOAD"), "--trust");
    assert!(
        said.contains("Picklock sets this variable itself"),
        "{said}"
    );
    let said = replay(&built_in, &theirs("MALLOC_CONF"), "--trust");
    assert!(said.contains("/srv/theirs does not exist"), "{said}");
}
