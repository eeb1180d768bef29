//! The command line of `picklock init`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{ArgGroup, Args};

use super::ci::Service;
use super::first_test::FRAMEWORKS;
use super::kind::Kind;
use super::languages::LANGUAGES;

/// `picklock init`.
#[derive(Debug, Clone, Args)]
#[command(after_help = INIT_HELP, group = ArgGroup::new("target").required(true).args(["lang", "test"]))]
pub struct InitArgs {
    /// The language of the adapter.
    #[arg(long, value_name = "LANGUAGE", value_parser = languages())]
    pub lang: Option<String>,
    /// Write a first test for this test framework into the existing project in DIR, in place of an adapter.
    #[arg(long, value_name = "FRAMEWORK", value_parser = frameworks(),
          conflicts_with_all = ["lib", "source", "rev", "ci", "only_workflow"])]
    pub test: Option<String>,
    /// Library whose lock to test instead of the example (`picklock docs adapters` lists them).
    #[arg(long, value_name = "NAME")]
    pub lib: Option<String>,
    /// The kind of lock.
    #[arg(long, value_enum, value_name = "KIND", default_value_t, hide_default_value = true,
          conflicts_with_all = ["lib", "test"])]
    pub kind: Kind,
    /// Where CI installs Picklock from: the URL of its git repository, or the path of a clone, such as a submodule. If
    /// omitted, `init` asks for it; without a terminal it writes no workflow.
    #[arg(long, value_name = "URL|PATH", value_parser = word)]
    pub source: Option<String>,
    /// The commit or the tag of Picklock that CI uses. Required with a URL.
    #[arg(long, value_name = "REV", value_parser = word)]
    pub rev: Option<String>,
    /// CI service to write a workflow for. Default: the one of the enclosing git repository.
    #[arg(long, value_enum)]
    pub ci: Option<Service>,
    /// Write only the workflow, for an adapter that `init` has written before.
    #[arg(long, requires = "source")]
    pub only_workflow: bool,
    /// Folder to write to. Created if it does not exist. No file is overwritten.
    #[arg(value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
}

const INIT_HELP: &str = "\
Examples:
  picklock init --lang python my-lock
  picklock init --lang python --lib pottery pottery-lock
  picklock init --lang python --kind semaphore my-semaphore
  picklock init --lang go --source https://example.org/picklock.git --rev v0.1.0 my-lock
  picklock init --lang node --source vendor/picklock --only-workflow my-lock
  picklock init --test pytest";

/// Returns the names of the languages, with their hidden aliases.
fn languages() -> PossibleValuesParser {
    let values = LANGUAGES.iter().map(|language| {
        let value = PossibleValue::new(language.name).help(language.about);
        value.aliases(language.aliases.iter().copied())
    });
    values.collect::<Vec<_>>().into()
}

fn frameworks() -> PossibleValuesParser {
    let value = |framework: &super::first_test::Framework| {
        PossibleValue::new(framework.name).help(framework.about)
    };
    FRAMEWORKS.iter().map(value).collect::<Vec<_>>().into()
}

fn word(text: &str) -> Result<String, &'static str> {
    if text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        Err("expected one word, without spaces")
    } else {
        Ok(text.to_owned())
    }
}
