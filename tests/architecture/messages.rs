//! Checks that code does not decide by reading a message: reasons are values, and messages are generated from them.

use syn::visit::Visit;

use crate::imports::is_for_tests;
use crate::sources::{Source, sources};

/// Names of variables and fields that contain messages.
const MESSAGES: [&str; 9] = [
    "detail",
    "expected",
    "got",
    "message",
    "reason",
    "sentence",
    "statement",
    "story",
    "words",
];

/// Methods that search a text.
const LOOKING: [&str; 13] = [
    "contains",
    "ends_with",
    "eq_ignore_ascii_case",
    "find",
    "match_indices",
    "matches",
    "rsplit",
    "rsplit_once",
    "split",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
];

/// Methods that return the text itself.
const SAME_TEXT: [&str; 5] = ["as_deref", "as_str", "to_lowercase", "to_string", "trim"];

/// Files that may read messages, each with the reason.
const READERS: &[(&str, &str)] = &[
    (
        "harness/redis-model/src/lua/fuse.rs",
        "the Lua library tells that memory ran out in words alone",
    ),
    (
        "reports/src/html/scorecard.rs",
        "it marks the code in a sentence, and decides nothing",
    ),
    (
        "reports/src/markdown/scorecard.rs",
        "it marks the code in a sentence, and decides nothing",
    ),
    (
        "scenarios/src/parse.rs",
        "the message is the TOML parser's, and only its wording is chosen",
    ),
];

/// The places where code reads a message.
#[derive(Default)]
pub struct Readings(Vec<String>);

impl<'ast> Visit<'ast> for Readings {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let is_test = match item {
            syn::Item::Mod(item) => is_for_tests(&item.attrs),
            syn::Item::Fn(item) => is_for_tests(&item.attrs),
            _ => false,
        };
        if !is_test {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let method = call.method.to_string();
        let receiver = last_name(&call.receiver).unwrap_or_default();
        if LOOKING.contains(&method.as_str()) && MESSAGES.contains(&receiver.as_str()) {
            self.0.push(format!("{receiver}.{method}"));
        }
        syn::visit::visit_expr_method_call(self, call);
    }
}

/// Returns the name of a variable or field, or of the text behind a conversion.
fn last_name(of: &syn::Expr) -> Option<String> {
    match of {
        syn::Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        syn::Expr::Field(field) => match &field.member {
            syn::Member::Named(name) => Some(name.to_string()),
            syn::Member::Unnamed(_) => None,
        },
        syn::Expr::MethodCall(call) if SAME_TEXT.contains(&call.method.to_string().as_str()) => {
            last_name(&call.receiver)
        }
        syn::Expr::Reference(reference) => last_name(&reference.expr),
        _ => None,
    }
}

#[test]
fn no_product_code_looks_into_messages() {
    let mut readers: Vec<&str> = Vec::new();
    for source in sources() {
        let Source { name, readings, .. } = source;
        let is_product = name.contains("src/") && !name.contains("tests");
        let Readings(found) = readings;
        if !is_product || found.is_empty() {
            continue;
        }
        let excused = READERS.iter().any(|(known, _)| known == name);
        assert!(
            excused,
            "{name} looks into a message: {found:?}; make it a value"
        );
        readers.push(name);
    }
    for (reader, _) in READERS {
        assert!(readers.contains(reader), "{reader} reads none");
    }
}

#[test]
fn reading_of_a_message_is_found_and_that_of_a_test_is_not() {
    let readings = |text| Source::parse("a file".to_owned(), text).readings.0;
    let product = "fn f(v: &V) -> bool { v.story.iter().any(|l| l.x()) || v.reason.as_str().contains(\"slow\") }";
    assert_eq!(readings(product), ["reason.contains"]);
    let tests = "#[cfg(test)] mod tests { fn f(reason: &str) { reason.contains(\"slow\"); } }";
    assert_eq!(readings(tests), [""; 0]);
}
