//! The rules of the architecture, enforced by tests.
//!
//! - [`arrows`]: imports match ARCHITECTURE.md
//! - [`circles`]: files do not import each other in a circle
//! - [`comments`]: spelling and width of comments, and names of tests
//! - this file: length of files and functions, their names, and no unfinished code
//! - [`dependencies`]: licences, sources and duplicates of the dependencies
//! - [`adapters`]: maximum length of a library's adapter
//! - [`links`]: links of the docs lead to files and headings
//! - [`messages`]: code makes no decision by reading a message
//! - [`retired_words`]: words that must not come back
//! - [`packages`]: published crates contain everything that they are compiled from
//! - [`sources`], [`imports`]: the files and the names that they use

mod adapters;
mod arrows;
mod circles;
mod comments;
mod dependencies;
mod imports;
mod links;
mod messages;
mod packages;
mod retired_words;
mod sources;

use syn::visit::Visit;

use std::path::Path;

use sources::{Source, sources};

/// Files longer than 500 lines, each with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

const MAX_FILE_LENGTH: usize = 500;
const MAX_FUNCTION_LENGTH: usize = 70;

/// Functions with their line counts.
#[derive(Default)]
pub struct Functions(Vec<(String, usize)>);

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.note(&item.sig, item.block.brace_token.span);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.note(&item.sig, item.block.brace_token.span);
        syn::visit::visit_impl_item_fn(self, item);
    }
}

impl Functions {
    fn note(&mut self, signature: &syn::Signature, braces: proc_macro2::extra::DelimSpan) {
        let lines = braces.close().end().line - braces.open().start().line + 1;
        self.0.push((signature.ident.to_string(), lines));
    }
}

#[test]
fn files_and_functions_stay_short() {
    let mut longest = 0;
    let mut too_long = Vec::new();
    for source in sources() {
        let Source { name, lines, .. } = source;
        let excused = LONG_FILES.iter().any(|(known, _)| known == name);
        assert!(
            *lines <= MAX_FILE_LENGTH || excused,
            "{name} has {lines} lines; split it, or give the reason in LONG_FILES"
        );
        for (function, lines) in &source.functions.0 {
            if *lines > MAX_FUNCTION_LENGTH {
                too_long.push(format!("{name}: `{function}` has {lines} lines"));
            }
            longest = longest.max(*lines);
        }
    }
    assert!(
        too_long.is_empty(),
        "more than {MAX_FUNCTION_LENGTH} lines: {too_long:#?}"
    );
    assert!(longest > 20, "the functions were not measured");
}

/// Macros that mark unfinished code.
#[derive(Default)]
pub struct Stubs(Vec<String>);

impl<'ast> Visit<'ast> for Stubs {
    fn visit_macro(&mut self, found: &'ast syn::Macro) {
        if let Some(last) = found.path.segments.last()
            && (last.ident == "todo" || last.ident == "unimplemented")
        {
            self.0.push(last.ident.to_string());
        }
        syn::visit::visit_macro(self, found);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if attribute.path().is_ident("ignore") {
            self.0.push("ignore".into());
        }
    }
}

#[test]
fn nothing_is_left_half_done() {
    for Source { name, stubs, .. } in sources() {
        assert!(stubs.0.is_empty(), "{name}: {:?}", stubs.0);
    }
}

#[test]
fn names_that_say_nothing_are_not_used() {
    let empty = [
        "util", "utils", "common", "types", "helpers", "manager", "misc",
    ];
    for Source { name, .. } in sources() {
        let stem = Path::new(name).file_stem().unwrap().to_string_lossy();
        assert!(!empty.contains(&&*stem), "{name}: name the thing");
    }
}

#[test]
fn the_rules_can_fail() {
    let of = |text| Source::parse("a file".to_owned(), text);
    let stubs = of("fn a() { todo!() }\n#[ignore] fn b() {}").stubs;
    assert_eq!(stubs.0, ["todo", "ignore"]);
    let functions = of("fn f() {\n\n\n}").functions;
    assert_eq!(functions.0, [("f".to_owned(), 4)]);
}
