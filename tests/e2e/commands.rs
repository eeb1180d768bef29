//! What the help says, word by word: `tests/cmd/*.trycmd`.

#[test]
fn the_help_and_the_lists_read_as_written_down() {
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        .case("tests/cmd/*.trycmd");
}
