//! The command line of `picklock init`.

use std::path::PathBuf;

use clap::Args;

use super::ci::Service;
use super::languages::LANGUAGES;
use crate::cli::named_values;

/// `picklock init`.
#[derive(Debug, Clone, Args)]
#[command(after_help = INIT_HELP)]
pub struct InitArgs {
    /// The language of the adapter.
    #[arg(long, value_name = "LANGUAGE", value_parser = named_values(LANGUAGES.iter().map(|it| (it.name, it.about))))]
    pub lang: String,
    /// Library whose lock to test instead of the example (`picklock docs adapters` lists them).
    #[arg(long, value_name = "NAME")]
    pub lib: Option<String>,
    /// Git repository from which CI installs Picklock. If omitted, `init` asks for it; without a terminal it writes no
    /// workflow.
    #[arg(long, value_name = "URL", value_parser = word, requires = "rev")]
    pub source: Option<String>,
    /// The commit or the tag of Picklock that CI uses.
    #[arg(long, value_name = "REV", value_parser = word)]
    pub rev: Option<String>,
    /// CI service to write a workflow for. Default: the one of the enclosing git repository.
    #[arg(long, value_enum)]
    pub ci: Option<Service>,
    /// Folder to write to. Created if it does not exist. No file is overwritten.
    #[arg(value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
}

const INIT_HELP: &str = "\
Examples:
  picklock init --lang python my-lock
  picklock init --lang python --lib pottery pottery-lock
  picklock init --lang go --source https://example.org/picklock.git --rev v0.1.0 my-lock";

fn word(text: &str) -> Result<String, &'static str> {
    if text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        Err("expected one word, without spaces")
    } else {
        Ok(text.to_owned())
    }
}
