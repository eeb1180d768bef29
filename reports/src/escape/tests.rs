use super::*;

#[test]
fn quoted_word_is_not_split() {
    assert_eq!(
        shell_words(r#"picklock  --impl 'exec:a b' "c \" d" e\ f"#),
        ["picklock", "--impl", "'exec:a b'", r#""c \" d""#, r"e\ f"]
    );
}

#[test]
fn long_tokens_are_shortened_and_words_are_not() {
    let token = "dad7a2c1".repeat(5);
    let text = format!("SET picklock:stock:0000 {token} NX PX 2000");
    let short = "SET picklock:stock:0000 dad7a2c1… NX PX 2000";
    assert_eq!(short_tokens(&text), short);
    let uuid = "granted, token 1e6f9b1c-0d3c-4f0e-9a55-2d5b0c7e8f11:31";
    assert_eq!(short_tokens(uuid), "granted, token 1e6f9b1c…:31");
    for plain in [
        "feedfacefeedfacefeedface",
        "command-read-timeout-exceeded",
        "é 12345678",
        "",
    ] {
        assert_eq!(short_tokens(plain), plain);
    }
}

#[test]
fn command_that_starts_anything_else_is_not_picklocks() {
    let words = ["scenario", "{a,b}", "it's", "a\n'b\\", "$X;`y`", ""].map(quoted);
    let ours = format!("picklock {}", words.join(" "));
    assert!(is_picklock_command(&ours), "{ours}");
    for other in [
        "rm -rf ~",
        "picklock x; rm -rf ~",
        "picklock `rm x`",
        "picklock $(x)",
        "picklock x | sh",
        "picklock x > y",
        "picklock 'x",
        "picklock $'x\\'",
        "picklock \"$(x)\"",
        "picklock x\\; y",
        "",
    ] {
        assert!(!is_picklock_command(other), "{other}");
    }
}

#[test]
fn ordinary_text_is_unchanged() {
    assert!(matches!(
        visible("redlock × été 锁"),
        Cow::Borrowed("redlock × été 锁")
    ));
}

#[test]
fn terminal_control_codes_are_escaped() {
    assert_eq!(visible("\x1b[31mred\x07"), r"\u{1b}[31mred\u{7}");
    assert_eq!(visible("a\r\nb\tc"), r"a\r\nb\tc");
    // The C1 form: one character that some terminals treat as ESC [.
    assert_eq!(visible("\u{9b}2J"), r"\u{9b}2J");
    assert_eq!(visible("\u{202e}dleh"), r"\u{202e}dleh");
}

#[test]
fn workflow_commands_are_escaped() {
    assert_eq!(visible("  ::add-mask::a"), r"  \u{3a}:add-mask::a");
    assert_eq!(visible("##[group]a"), r"\u{23}#[group]a");
    assert_eq!(visible("a ##[group]a"), r"a \u{23}#[group]a");
    assert_eq!(visible("a ##vso[task]"), r"a \u{23}#vso[task]");
    assert_eq!(
        visible("##teamcity[x] ###[y]"),
        r"\u{23}#teamcity[x] #\u{23}#[y]"
    );
    assert_eq!(visible("## title #1"), "## title #1");
    for address in ["::1", "::ffff:1.2.3.4", "a ::b::c"] {
        assert!(matches!(visible(address), Cow::Borrowed(same) if same == address));
    }
}

#[test]
fn word_is_quoted_for_the_shell_in_every_case() {
    for plain in ["gc-pause", "a/b_c.toml", "redis://h:1", "50%"] {
        assert_eq!(quoted(plain), plain);
    }
    for (word, typed) in [
        ("", "''"),
        ("{a,b}.toml", "'{a,b}.toml'"),
        ("a!b", "'a!b'"),
        ("$X `y` ~ *", "'$X `y` ~ *'"),
        ("it's", r"'it'\''s'"),
        ("a\n'b\\", r"$'a\n\'b\\'"),
        ("\u{1b}\u{202e}", r"$'\x1b\xe2\x80\xae'"),
        ("a\u{a0}b", r"$'a\xc2\xa0b'"),
        ("x ##[y]", r"$'x \x23\x23[y]'"),
        ("::error::x", r"$'\x3a\x3aerror\x3a\x3ax'"),
    ] {
        assert_eq!(quoted(word), typed);
        let shell = std::process::Command::new("bash")
            .args(["-c", &format!("printf %s {typed}")])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(shell.stdout).unwrap(), word);
    }
}

#[test]
fn escaped_toml_has_the_same_values() {
    let hostile = [
        "plain",
        "two\nlines",
        "it's \"quoted\" \\ and \u{202e}",
        "a\n::error::x\n\u{9b}31m\u{2028}\r\t\u{7}",
        "##[group] 'x' \"y\"",
        "'''\"\"\"\u{feff}",
        "ends with quotes \"\"\n::a::b\"\"",
        "\n\u{202e}",
        "back\\\u{ad}",
    ];
    let values = toml::Table::from_iter(hostile.map(|text| (text.to_owned(), text.into())));
    let nested = toml::Table::from_iter([("table".to_owned(), values.into())]);
    let shown = visible_toml(&toml::to_string(&nested).unwrap());
    assert_eq!(
        toml::from_str::<toml::Table>(&shown).unwrap(),
        nested,
        "{shown}"
    );
    assert!(is_harmless_in_toml(&shown), "{shown}");
    assert!(shown.contains("plain = \"plain\"\n"), "{shown}");
}

#[test]
fn line_breaks_are_preserved() {
    let text = "one\n  two\n";
    assert!(matches!(visible_lines(text), Cow::Borrowed(same) if same == text));
    let text = "one\n\x1b[2J\rtwo\u{2028}\n";
    assert_eq!(visible_lines(text), "one\n\\u{1b}[2J\\rtwo\\u{2028}\n");
}

#[test]
fn escaped_document_parses_to_the_same_value() {
    let value = serde_json::json!({"a\u{9b}": "\u{7f}\u{202e}\u{e0001}é\n\u{1b}"});
    let shown = visible_json(serde_json::to_string_pretty(&value).unwrap());
    assert!(
        !shown.chars().any(|c| c != '\n' && is_control(c)),
        "{shown}"
    );
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
        value
    );
}
