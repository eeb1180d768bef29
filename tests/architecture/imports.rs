//! Module imports: the paths in a file, followed through re-exports to the file that defines the item.
//!
//! Test-only code and the contents of macros are ignored.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;

use crate::sources::{ModulePath, Source, modules};

/// The modules of a crate, each with the names that it uses.
pub struct Crate {
    named: BTreeMap<ModulePath, Named>,
}

/// The names that one file uses.
#[derive(Clone, Default)]
pub struct Named {
    /// Paths as written, with `use` lines expanded.
    paths: BTreeSet<Vec<String>>,
    /// Names that a public `use` of a module file re-exports, with their paths.
    passed_on: BTreeMap<String, Vec<String>>,
}

impl Crate {
    /// Reads the crate in a folder.
    pub fn read(folder: &str) -> Crate {
        let files = modules(folder).map(|(module, named)| (module, named.clone()));
        let named: BTreeMap<_, _> = files.collect();
        assert!(!named.is_empty(), "{folder} has no sources");
        Crate { named }
    }

    /// Creates a crate from modules and their texts.
    pub fn from_texts(files: &[(&str, &str)]) -> Crate {
        let read = |(module, text): &(&str, &str)| {
            let path = module.split("::").filter(|part| !part.is_empty());
            let named = Source::parse((*module).to_owned(), text).named;
            (path.map(str::to_owned).collect(), named)
        };
        Crate {
            named: files.iter().map(read).collect(),
        }
    }

    /// Returns every module, with the modules of the same crate whose items it uses.
    pub fn imports(&self) -> BTreeMap<ModulePath, BTreeSet<ModulePath>> {
        let of = |module: &ModulePath, named: &Named| {
            let targets = named.paths.iter();
            let targets = targets.filter_map(|path| self.target(module, path, 0));
            targets.filter(|target| target != module).collect()
        };
        let all = self.named.iter();
        all.map(|(module, named)| (module.clone(), of(module, named)))
            .collect()
    }

    /// Returns every module with the top-level modules whose items it uses or re-exports. The modules of
    /// `picklock_verdicts` count as modules of the crate, and `picklock_redis_model` counts as `model`.
    pub fn top_modules(&self) -> BTreeMap<ModulePath, BTreeSet<String>> {
        let room = |module: &ModulePath, path: &Vec<String>| {
            let target = self.target(module, path, 0);
            if let Some(room) = target.as_ref().and_then(|target| target.first()) {
                return Some(room.clone());
            }
            match path.first()?.as_str() {
                "picklock_redis_model" => Some("model".to_owned()),
                // `picklock_verdicts::check`, or `crate::check` where the root re-exports it.
                "picklock_verdicts" | "crate" => path.get(1).cloned(),
                _ => None,
            }
        };
        let of = |module: &ModulePath, named: &Named| {
            let paths = named.paths.iter().chain(named.passed_on.values());
            paths.filter_map(|path| room(module, path)).collect()
        };
        let all = self.named.iter();
        all.map(|(module, named)| (module.clone(), of(module, named)))
            .collect()
    }

    /// Returns the path from the root of the crate, or `None` if it leaves the crate.
    fn absolute(&self, module: &ModulePath, path: &[String]) -> Option<Vec<String>> {
        let mut at = module.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                at.clear();
                rest = &path[1..];
            }
            "self" => rest = &path[1..],
            "super" => {}
            child => {
                let mut below = module.clone();
                below.push(child.to_owned());
                self.named.get(&below)?;
            }
        }
        while rest.first().is_some_and(|part| part == "super") {
            at.pop();
            rest = &rest[1..];
        }
        at.extend(rest.iter().cloned());
        Some(at)
    }

    /// Returns the module whose file defines the item of the path.
    fn target(&self, module: &ModulePath, path: &[String], depth: usize) -> Option<ModulePath> {
        let path = self.absolute(module, path)?;
        let known = (0..=path.len()).rev();
        let (at, rest) = known
            .map(|length| path.split_at(length))
            .find(|(at, _)| self.named.contains_key(*at))?;
        let at = at.to_vec();
        let Some(first) = rest.first() else {
            return Some(at);
        };
        // A circular re-export does not compile, so eight steps are enough.
        if depth < 8 {
            let named = &self.named[&at];
            let mut follow = |stands_for: &Vec<String>| {
                let mut whole = stands_for.clone();
                whole.extend(rest[1..].iter().cloned());
                self.target(&at, &whole, depth + 1)
            };
            if let Some(found) = named.passed_on.get(first).and_then(&mut follow) {
                return Some(found);
            }
        }
        Some(at)
    }
}

impl Named {
    /// Expands a `use`.
    fn spell(&mut self, prefix: &[String], tree: &syn::UseTree, visible: bool) {
        let with = |name: &syn::Ident| {
            let mut path = prefix.to_vec();
            path.push(name.to_string());
            path
        };
        let mut note = |path: Vec<String>, name: String| {
            if visible {
                self.passed_on.insert(name, path);
            } else {
                self.paths.insert(path);
            }
        };
        match tree {
            syn::UseTree::Path(path) => self.spell(&with(&path.ident), &path.tree, visible),
            syn::UseTree::Name(name) if name.ident == "self" => {
                let last = prefix.last().cloned().unwrap_or_default();
                note(prefix.to_vec(), last);
            }
            syn::UseTree::Name(name) => note(with(&name.ident), name.ident.to_string()),
            syn::UseTree::Rename(rename) => note(with(&rename.ident), rename.rename.to_string()),
            syn::UseTree::Group(group) => {
                for item in &group.items {
                    self.spell(prefix, item, visible);
                }
            }
            syn::UseTree::Glob(_) => drop(self.paths.insert(prefix.to_vec())),
        }
    }
}

/// Returns `true` if the item is marked `#[cfg(test)]` or is a test itself.
pub fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let words = attribute.meta.require_list();
        let of_tests = words.is_ok_and(|list| list.tokens.to_string().starts_with("test"));
        attribute.path().is_ident("cfg") && of_tests || attribute.path().is_ident("test")
    })
}

impl<'ast> Visit<'ast> for Named {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            _ => return syn::visit::visit_item(self, item),
        };
        if !is_for_tests(attributes) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let visible = !matches!(item.vis, syn::Visibility::Inherited);
        self.spell(&[], &item.tree, visible);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            let segments = path.segments.iter();
            self.paths
                .insert(segments.map(|part| part.ident.to_string()).collect());
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {
        // `pub(in crate::x)` names a module and imports nothing.
    }
}
