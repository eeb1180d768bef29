//! `picklock completions` and `picklock man`: completion scripts and manual pages, generated from
//! the command line's definition.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::Failure;
use crate::print;

/// Prints the completion script of a shell.
pub fn completions(shell: Shell) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "picklock", &mut script);
    print::out(&String::from_utf8_lossy(&script));
}

/// Prints the manual page, or that of one command.
///
/// # Errors
/// There is no such command.
pub fn man(of: Option<&str>) -> Result<(), Failure> {
    let mut whole = Cli::command();
    // Each command then knows its full name, such as `picklock scenario`.
    whole.build();
    let command = match of {
        None => whole,
        Some(name) => {
            let mut visible = whole
                .get_subcommands()
                .filter(|command| !command.is_hide_set());
            let found = visible.find(|command| command.get_name() == name).cloned();
            found.ok_or_else(|| unknown(&whole, name))?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::Environment(format!("cannot write the manual page: {error}")))?;
    print::out(&String::from_utf8_lossy(&page));
    Ok(())
}

fn unknown(whole: &clap::Command, name: &str) -> Failure {
    let visible = whole
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    let names: Vec<&str> = visible.map(clap::Command::get_name).collect();
    let nearest = picklock_scenarios::nearest(name, names.iter().copied());
    let hint = nearest.map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
    Failure::Usage(format!(
        "there is no command `{name}`; the commands are {}{hint}",
        names.join(", ")
    ))
}
