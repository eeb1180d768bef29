//! The exact help texts (`tests/cmd/*.trycmd`), and the aliases of flags.

use crate::running::picklock;

#[test]
fn the_help_and_the_lists_read_as_written_down() {
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        .case("tests/cmd/*.trycmd");
}

#[test]
fn lock_is_an_alias_of_impl_wherever_a_lock_is_named() {
    for (impls, locks) in [
        ("list impls", "list locks"),
        (
            "scenario calm --backend sim --seed 1 --json --impl redlock --impl-option retry_delay=20ms",
            "scenario calm --backend sim --seed 1 --json --lock redlock --lock-option retry_delay=20ms",
        ),
        (
            "matrix --backend sim --scenario calm --json --impl redlock",
            "matrix --backend sim --scenario calm --json --lock redlock",
        ),
    ] {
        let [impls, locks] = [impls, locks].map(|line| picklock(line).run());
        assert_eq!(impls.code, Some(0), "{}", impls.all());
        assert_eq!(impls.stdout, locks.stdout);
    }
}
