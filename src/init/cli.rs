//! The command line of `picklock init`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use super::languages::LANGUAGES;

/// `picklock init`.
#[derive(Debug, Clone, Args)]
#[command(after_help = INIT_HELP)]
pub struct InitArgs {
    /// The language of the adapter.
    #[arg(long, value_name = "LANGUAGE", value_parser = language_names())]
    pub lang: String,
    /// Test the lock of this library, in place of the example (`picklock docs adapters` lists them).
    #[arg(long, value_name = "NAME")]
    pub lib: Option<String>,
    /// The folder to write into. Created if it does not exist. No file is overwritten.
    #[arg(value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
}

const INIT_HELP: &str = "\
Examples:
  picklock init --lang python my-lock
  picklock init --lang python --lib pottery pottery-lock";

fn language_names() -> PossibleValuesParser {
    let values = LANGUAGES.iter();
    let values = values.map(|language| PossibleValue::new(language.name).help(language.about));
    values.collect::<Vec<_>>().into()
}
