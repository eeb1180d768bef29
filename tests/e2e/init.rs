//! `picklock init` writes the files that it lists, and overwrites none.

use std::fs;
use std::path::{Path, PathBuf};

use toml::Table;

use crate::running::{Outcome, picklock};
use crate::strangers::fifo;

/// Every language, as the help lists it.
pub const LANGUAGES: [&str; 8] = [
    "bash", "csharp", "go", "java", "node", "php", "python", "rust",
];

/// The source of Picklock for CI, without which no workflow is written.
const ORIGIN: &str = "--source https://example.org/picklock.git --rev v0.1.0";

/// Returns all files below the folder, with their relative paths.
fn files(folder: &str, outcome: &Outcome) -> Vec<PathBuf> {
    let root = outcome.home().join(folder);
    let (mut found, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            } else {
                found.push(path.strip_prefix(&root).unwrap().to_owned())
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_language_writes_the_announced_files() {
    for language in LANGUAGES {
        let line = format!("init --lang {language} {ORIGIN} 'my lock'");
        let outcome = picklock(&line).run().exits(0);
        let (written, next) = outcome.stdout.split_once("\nnext:\n").unwrap();
        let mut said: Vec<PathBuf> = written
            .lines()
            .skip(1)
            .map(|line| line.trim().into())
            .collect();
        said.sort();
        assert_eq!(said, files("my lock", &outcome), "{}", outcome.all());
        for file in ["picklock.toml", ".github/workflows/picklock.yml"] {
            assert!(said.contains(&file.into()), "{language}: {said:?}");
        }
        let first = next.lines().next();
        assert_eq!(first, Some("  cd 'my lock'"), "{}", outcome.all());
        // The gate reads the configuration before it starts anything, and it announces the configured lock.
        let configuration = outcome.text_file("my lock/picklock.toml");
        let (_, name) = next.split_once("--impl ").unwrap();
        let table = format!("[impl.{}]\n", name.lines().next().unwrap());
        assert!(configuration.contains(&table), "{table}\n{configuration}");
    }
}

#[test]
fn init_lists_files_and_next_steps() {
    let outcome = picklock(&format!("init --lang java {ORIGIN} my-lock"))
        .run()
        .exits(0);
    insta::assert_snapshot!(outcome.stdout);
}

/// The first scenario must not fail for a correct semaphore, and it must fail for one that only counts.
#[test]
fn first_scenario_distinguishes_a_semaphore_from_a_counter() {
    let line = format!("init --lang python --kind semaphore {ORIGIN} one");
    let outcome = picklock(&line).run().exits(0);
    let (_, next) = outcome.stdout.split_once("\nnext:\n").unwrap();
    assert!(
        next.contains("  picklock adapter check my-semaphore\n"),
        "{next}"
    );
    let (_, first) = next.split_once("picklock scenario ").unwrap();
    let (first, _) = first.split_once(' ').unwrap();
    for (lock, code) in [
        ("semaphore", 0),
        ("semaphore-counter", 1),
        ("semaphore-list", 1),
    ] {
        let line = format!("scenario {first} --impl {lock} --backend sim");
        picklock(&line).run().exits(code);
    }
}

#[test]
fn a_library_takes_the_place_of_the_example() {
    let outcome = picklock(&format!("init --lang python --lib pottery {ORIGIN} one")).run();
    let outcome = outcome.exits(0);
    let written = files("one", &outcome);
    assert!(
        written.contains(&"pottery_redlock.py".into()),
        "{written:?}"
    );
    assert!(!written.contains(&"my_lock.py".into()), "{written:?}");
    let workflow = outcome.text_file("one/.github/workflows/picklock.yml");
    assert!(
        workflow.contains("pip install -r requirements.txt"),
        "{workflow}"
    );
}

/// Declarations of libraries that the included configuration has only under other names, because it has several locks
/// of the library.
const NOT_INCLUDED: &str = "
    spring-data-redis = {}
";

/// Returns the libraries of a language, as the error for an unknown library lists them.
fn libraries(language: &str) -> Vec<String> {
    let line = format!("init --lang {language} --lib none-such");
    let said = picklock(&line).run().exits(2).stderr;
    let list = said.split_once(&format!("those for {language} are "));
    let names = list.map(|(_, rest)| rest.lines().next().unwrap().split(", "));
    names.into_iter().flatten().map(str::to_owned).collect()
}

#[test]
fn a_library_claims_what_the_included_configuration_says_of_it() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters/picklock.toml");
    let mut known: Table = fs::read_to_string(file).unwrap().parse().unwrap();
    let Some(known) = known["impl"].as_table_mut() else {
        panic!("no tables");
    };
    known.extend(NOT_INCLUDED.parse::<Table>().unwrap());
    let mut compared = 0;
    for language in LANGUAGES {
        for name in libraries(language) {
            let line = format!("init --lang {language} --lib {name} one");
            let outcome = picklock(&line).run().exits(0);
            let written: Table = outcome.text_file("one/picklock.toml").parse().unwrap();
            let (table, expected) = (&written["impl"][&name], &known[&name]);
            for key in ["nodes", "needs_every_node", "renews", "fences"] {
                assert_eq!(table.get(key), expected.get(key), "{name}: {key}");
            }
            let in_a_pause = written["expect"].as_array().unwrap().last().unwrap();
            let fences = expected.get("fences").is_some();
            let is_held = in_a_pause["resource"].as_str() == Some("held");
            assert_eq!(is_held, fences, "{name}");
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn workflow_stands_at_the_root_of_the_repository() {
    let line = format!("init --lang python {ORIGIN} locks/stock");
    let call = picklock(&line);
    let home = call.temp().parent().unwrap().to_owned();
    fs::create_dir(home.join(".git")).unwrap();
    let outcome = call.run().exits(0);
    let workflow = outcome.text_file(".github/workflows/picklock-locks-stock.yml");
    assert!(
        workflow.contains("working-directory: \"locks/stock\""),
        "{workflow}"
    );
    assert!(
        workflow.contains("https://example.org/picklock.git"),
        "{workflow}"
    );
    assert!(!home.join("locks/stock/.github").exists());
    assert!(
        outcome
            .text_file("locks/stock/.gitignore")
            .contains("picklock-results/")
    );
}

#[test]
fn workflow_of_a_folder_beside_a_repository_stays_out_of_it() {
    let call = picklock(&format!("init --lang python {ORIGIN} ../sibling"));
    let repository = call.temp();
    fs::create_dir(repository.join(".git")).unwrap();
    let outcome = call.within(&repository).run().exits(0);
    outcome.text_file("sibling/.github/workflows/picklock.yml");
    assert!(!repository.join(".github").exists());
}

#[test]
fn workflow_of_gitlab_is_written_where_gitlab_is_used() {
    let call = picklock(&format!("init --lang go {ORIGIN}"));
    let home = call.temp().parent().unwrap().to_owned();
    fs::create_dir(home.join(".git")).unwrap();
    fs::write(
        home.join(".git/config"),
        "url = git@gitlab.com:me/locks.git",
    )
    .unwrap();
    let outcome = call.run().exits(0);
    let workflow = outcome.text_file(".gitlab-ci.yml");
    assert!(workflow.contains("golang-go"), "{workflow}");
    assert!(workflow.contains("go build -o my-lock ."), "{workflow}");
    // An existing file is included, not replaced.
    let call = picklock(&format!("init --lang bash {ORIGIN}")).file(".gitlab-ci.yml", "mine");
    let outcome = call.run().exits(0);
    assert_eq!(outcome.text_file(".gitlab-ci.yml"), "mine");
    assert!(
        outcome.stderr.contains("include: .gitlab/picklock.yml"),
        "{}",
        outcome.all()
    );
}

#[test]
fn a_clone_is_a_source_without_a_revision() {
    let call = picklock("init --lang java --ci github --source picklock locks/stock");
    let home = call.temp().parent().unwrap().to_owned();
    fs::create_dir_all(home.join(".git")).unwrap();
    fs::write(home.join("pom.xml"), "<project/>").unwrap();
    fs::create_dir(home.join("picklock")).unwrap();
    fs::write(home.join("picklock/Cargo.toml"), "").unwrap();
    let outcome = call.run().exits(0);
    let workflow = outcome.text_file(".github/workflows/picklock-locks-stock.yml");
    for part in [
        "PICKLOCK_SOURCE: \"../../picklock\"",
        "cargo install --locked --path \"$PICKLOCK_SOURCE\"",
        "mvn -q -B -f ../../pom.xml -DskipTests install",
        "mvn -q compile",
    ] {
        assert!(workflow.contains(part), "{part}\n{workflow}");
    }
    // The repository uses Maven.
    outcome.text_file("locks/stock/pom.xml");
    // The adapter exists: only its workflow is written.
    let again = "init --lang java --ci gitlab --source picklock --only-workflow locks/stock";
    let again = picklock(again).within(&home).run().exits(0);
    assert!(again.stdout.contains(".gitlab-ci.yml"), "{}", again.all());
}

#[test]
fn go_adapter_is_part_of_the_module_around_it() {
    let call = picklock("init --lang go locks").file("go.mod", "module example.org/shop\n");
    let outcome = call.run().exits(0);
    assert!(!outcome.home().join("locks/go.mod").exists());
    outcome.text_file("locks/my_lock.go");
}

#[test]
fn without_a_source_no_workflow_is_written() {
    let outcome = picklock("init --lang python one").run().exits(0);
    assert!(
        outcome.stderr.contains("--source URL --rev REV"),
        "{}",
        outcome.all()
    );
    assert!(!outcome.home().join("one/.github").exists());
}

#[test]
fn secrets_and_variables_stay_out_of_a_workflow() {
    let url = "https://example.org/p.git";
    for (source, folder, said) in [
        (
            "https://u:t0ken@example.org/p.git",
            "one",
            "everyone who reads",
        ),
        (
            "https://t0ken@example.org/p.git",
            "one",
            "everyone who reads",
        ),
        (url, "'one/${{ github.token }}'", "choose another folder"),
    ] {
        let line = format!("init --lang python --source {source} --rev v1 {folder}");
        let call = picklock(&line).file(".git/HEAD", "ref: refs/heads/main");
        let outcome = call.run().exits(2);
        let stderr = &outcome.stderr;
        assert!(
            stderr.contains(said) && !stderr.contains("t0ken"),
            "{stderr}"
        );
        assert!(!outcome.home().join("one").exists(), "{}", outcome.all());
    }
}

#[test]
fn nothing_is_overwritten() {
    let call = picklock("init --lang python").file("my_lock.py", "mine");
    let outcome = call.file("picklock.toml", "mine too").run().exits(2);
    assert_eq!(outcome.text_file("my_lock.py"), "mine");
    assert!(!outcome.home().join("picklock_adapter.py").exists());
    insta::assert_snapshot!(outcome.stderr);
}

#[test]
fn unrelated_files_do_not_stop_init() {
    let call = picklock("init --lang bash .").file("LICENSE", "mine");
    let outcome = call.run().exits(0);
    assert!(!outcome.stdout.contains("cd "), "{}", outcome.all());
}

#[test]
fn unknown_languages_and_libraries_are_refused() {
    let refused = [
        "init --lang cobol",
        "init --lang python --source nowhere",
        "init",
        "init --lang python --lib potery",
        "init --lang bash --lib redsync",
        "init --lang go a-file",
    ];
    let said = refused.map(|line| {
        let outcome = picklock(line).file("a-file", "mine").run().exits(2);
        format!("$ picklock {line}\n{}", outcome.stderr)
    });
    insta::assert_snapshot!(said.join("\n"));
}

/// Every test framework, with a file by which its projects are recognised, and the files of its first test.
const FRAMEWORKS: [(&str, &str, &[&str]); 6] = [
    ("pytest", "pyproject.toml", &["tests/test_my_lock.py"]),
    (
        "junit",
        "pom.xml",
        &["src/test/java/example/MyLockTest.java"],
    ),
    ("gotest", "go.mod", &["my_lock_test.go"]),
    (
        "vitest",
        "package.json",
        &["tests/my_lock.mjs", "tests/my_lock.test.mjs"],
    ),
    (
        "node",
        "package.json",
        &["tests/my_lock.mjs", "tests/my_lock.test.mjs"],
    ),
    ("xunit", "Shop.csproj", &["MyLockTests.cs"]),
];

#[test]
fn first_test_is_written_into_a_project() {
    for (framework, project_file, expected) in FRAMEWORKS {
        let line = format!("init --test {framework} shop");
        let call = picklock(&line).file(&format!("shop/{project_file}"), "");
        let outcome = call.file("shop/tests/x", "").run().exits(0);
        let mut written = files("shop", &outcome);
        written.retain(|path| path != Path::new(project_file) && path != Path::new("tests/x"));
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(written, expected, "{framework}: {}", outcome.all());
        for path in &expected {
            let path = path.to_string_lossy();
            assert!(outcome.stdout.contains(&*path), "{}", outcome.all());
        }
    }
}

#[test]
fn first_test_belongs_to_the_go_package_around_it() {
    let call = picklock("init --test gotest").file("go.mod", "module example.org/shop\n");
    let call = call.file(
        "stock.go",
        "// Package stock sells.\npackage stock // of the shop\n",
    );
    let test = call.run().exits(0).text_file("my_lock_test.go");
    assert!(test.starts_with("package stock_test\n\nimport ("), "{test}");
}

#[test]
fn first_test_uses_the_framework_of_the_project() {
    let call = picklock("init --test vitest").file("package.json", "{}");
    let test = call.run().exits(0).text_file("my_lock.test.mjs");
    assert!(
        test.starts_with("import { test } from \"vitest\";"),
        "{test}"
    );
}

#[test]
fn first_test_lists_files_and_next_steps() {
    let call = picklock("init --test pytest").file("pyproject.toml", "");
    insta::assert_snapshot!(call.run().exits(0).stdout);
}

#[test]
fn first_test_is_refused_without_a_project_or_over_a_file() {
    let refused = [
        "init --test xunit",
        "init --test node nowhere",
        "init --test pytest",
        "init --test mocha",
        "init --test pytest --lang python",
    ];
    let messages = refused.map(|line| {
        let call = picklock(line).file("pyproject.toml", "");
        let outcome = call.file("test_my_lock.py", "mine").run().exits(2);
        assert_eq!(outcome.text_file("test_my_lock.py"), "mine");
        format!("$ picklock {line}\n{}", outcome.stderr)
    });
    insta::assert_snapshot!(messages.join("\n"));
}

/// Everyone who reads the workflow would see the token.
#[test]
fn source_with_what_may_be_a_token_is_refused() {
    for source in [
        "https://example.org/p.git?token=geheim",
        "https://example.org/p.git#geheim",
        "https://geheim@example.org/p.git",
        "ssh://u:geheim@example.org/p.git",
    ] {
        let line = format!("init --lang python --source '{source}' --rev v1 lock");
        let outcome = picklock(&line).run().exits(2);
        let said = outcome.all();
        assert!(
            !said.contains("geheim") && !outcome.home().join("lock").exists(),
            "{said}"
        );
    }
}

#[test]
fn invisible_characters_of_a_folder_are_escaped_in_its_workflow() {
    let line = format!("init --lang python {ORIGIN} 'a\u{202e}b/lock'");
    let call = picklock(&line).file(".git/config", "");
    let outcome = call.run().exits(0);
    let workflows = outcome.home().join(".github/workflows");
    let workflow = fs::read_dir(workflows).unwrap().next().unwrap().unwrap();
    let text = fs::read_to_string(workflow.path()).unwrap();
    assert!(
        !text.contains('\u{202e}') && text.contains("a\\u202eb/lock"),
        "{text}"
    );
}

/// Nothing writes to the FIFO, so reading it would never end.
#[test]
fn repository_whose_configuration_is_a_fifo_is_ignored() {
    let call = picklock(&format!("init --lang python {ORIGIN} lock")).file(".git/keep", "");
    fifo(&call.temp().with_file_name(".git").join("config"));
    call.run().exits(0);
}

#[test]
fn another_kind_takes_the_place_of_the_example() {
    let languages = ["bash", "csharp", "go", "java", "node", "python", "rust"];
    for language in languages {
        let kinds = ["semaphore", "rwlock", "cron", "leader"];
        let has_leader = language != "bash";
        for kind in kinds
            .into_iter()
            .filter(|kind| has_leader || *kind != "leader")
        {
            let line = format!("init --lang {language} --kind {kind} {ORIGIN} one");
            let outcome = picklock(&line).run().exits(0);
            let configuration = outcome.text_file("one/picklock.toml");
            let table: Table = configuration.parse().unwrap();
            let lock = &table["impl"][format!("my-{kind}").as_str()];
            let declared = lock.get("kind").and_then(|it| it.as_str());
            let expected = (kind != "cron").then_some(kind);
            assert_eq!(declared, expected, "{configuration}");
            assert!(!configuration.contains("{{"), "{configuration}");
        }
    }
}

#[test]
fn kind_without_an_example_is_rejected() {
    let outcome = picklock("init --lang bash --kind leader one").run();
    let outcome = outcome.exits(2);
    let stderr = &outcome.stderr;
    assert!(stderr.contains("there is no example in bash"), "{stderr}");
    assert!(!outcome.home().join("one").exists());
}
