//! `picklock scenario`: one run, from the command line to the report.

use picklock_reports::terminal::Detail;

use crate::cli::ScenarioArgs;
use crate::exit::Failure;
use crate::run::{self, Reporting};
use crate::specification;

/// Runs the scenario, judges it, prints the report, and saves the run. A violated property is not an error.
///
/// # Errors
/// Returns an error if the usage is wrong, or if the machine cannot run it.
pub async fn run(args: ScenarioArgs) -> Result<u8, Failure> {
    let spec = specification::from_args(&args)?;
    let reporting = Reporting {
        json: args.json,
        out: args.out,
        detail: Detail::new(args.verbose),
        quiet: args.quiet,
        no_rerun: args.no_rerun,
    };
    match run::execute(spec, args.backend.backend(), &reporting).await {
        Ok(record) => Ok(run::code_of(&record)),
        Err(failure) if args.no_rerun => Err(failure.in_child()),
        Err(failure) => Err(failure),
    }
}
