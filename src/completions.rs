//! `picklock completions` and `picklock man`: completion scripts and manual pages, generated from
//! the command line's definition.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use picklock_reports::inert;
use picklock_reports::inert::Inert;

use picklock_scenarios::{Cause, Property, catalog};

use crate::cli::Cli;
use crate::exit::Failure;
use crate::print;
use crate::usage_hint::or_meant;

/// Prints the completion script of a shell.
pub fn completions(shell: Shell) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_names(), "picklock", &mut script);
    print::out(&Inert::with_styles(&String::from_utf8_lossy(&script)));
}

/// Returns the command line with the possible values of each argument that takes a name. These arguments also accept
/// paths and programs, so the values serve only for completion.
fn with_names() -> Command {
    let scenarios: Vec<&str> = catalog::names().collect();
    let locks: Vec<&str> = picklock_impls::all().map(|lock| lock.name).collect();
    let causes = Cause::ALL.iter().map(|cause| cause.as_str());
    let properties = Property::ALL.iter().map(|property| property.as_str());
    let all: Vec<&str> = (scenarios.iter().chain(&locks).copied())
        .chain(causes)
        .chain(properties)
        .collect();
    let scenario = |arg: Arg| arg.value_parser(PossibleValuesParser::new(&scenarios));
    let lock = |arg: Arg| arg.value_parser(PossibleValuesParser::new(&locks));
    Cli::command()
        .mut_subcommand("scenario", |it| {
            it.mut_arg("scenario", scenario).mut_arg("plain", lock)
        })
        .mut_subcommand("matrix", |it| {
            it.mut_arg("scenarios", scenario).mut_arg("locks", lock)
        })
        .mut_subcommand("explain", |it| {
            it.mut_arg("name", |arg| {
                arg.value_parser(PossibleValuesParser::new(&all))
            })
        })
}

/// Prints the main manual page, or the page of one command.
pub fn man(of: Option<&str>) -> Result<(), Failure> {
    let mut whole = Cli::command();
    // `build` gives each command its full name, such as `picklock scenario`.
    whole.build();
    let commands = || whole.get_subcommands().filter(|it| !it.is_hide_set());
    let command = match of {
        None => whole,
        Some(name) => {
            let found = commands().find(|command| command.get_name() == name);
            let unknown = || unknown(name, commands().map(Command::get_name).collect());
            found.cloned().ok_or_else(unknown)?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::Environment(inert!("cannot write the manual page: {}", error)))?;
    print::out(&Inert::with_styles(&String::from_utf8_lossy(&page)));
    Ok(())
}

fn unknown(name: &str, names: Vec<&str>) -> Failure {
    let hint = or_meant(name, names.iter().copied());
    Failure::Usage(inert!(
        "there is no command `{}`; the commands are {}{}",
        name,
        names.join(", "),
        Inert::lines(&hint)
    ))
}
