//! `picklock-lab`: writes the pages about Picklock's studies, and packs and unpacks the fuzzing inputs.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use picklock_lab::generated_part::{between, replaced_between};
use picklock_lab::library::{Library, Limits};
use picklock_lab::{bug_corpus, counterfactual, findings, fuzz_inputs, gallery, servers, site};
use picklock_reports::combine::{from_run, merge};
use picklock_reports::documents::{Document, read};
use picklock_reports::report_input::ReportInput;

/// Studies of Picklock: pages from matrices, and fuzzing inputs.
#[derive(Parser)]
enum Command {
    /// Write the results of matrices for third-party libraries
    Findings {
        /// The matrix.json of each matrix, and the findings.toml of each library
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Limits that apply to every library: interpretations of violations that no findings.toml covers
        #[arg(long, value_name = "FILE")]
        limits: Option<PathBuf>,
        /// Leave the rows and the sections of libraries without runs as they are in the page
        #[arg(long, requires = "page")]
        keep: bool,
        #[command(flatten)]
        target: PageTarget,
    },
    /// Compare the same cells on several servers
    Servers {
        /// The matrix.json of each server
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        target: PageTarget,
    },
    /// Measure how many schedules a search needs to find each class of bugs
    BugCorpus {
        /// Number of hunts per known bug, with seeds counted from 1
        #[arg(long, default_value_t = 5)]
        seeds: u64,
        /// Maximum number of plans per hunt
        #[arg(long, default_value_t = 4_000)]
        runs: u64,
        /// Include only locks whose name contains this text
        #[arg(long, default_value = "")]
        only: String,
        #[command(flatten)]
        target: PageTarget,
    },
    /// Check whether the causes of simulated runs need the faults that they name
    Counterfactuals {
        /// Number of random runs with a violation, besides those of every lock in every scenario of the catalog
        #[arg(long, default_value_t = 5_000)]
        violated: u64,
        /// Seed from which the random runs are generated
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[command(flatten)]
        target: PageTarget,
    },
    /// Write the gallery of causes: docs/causes.md and its pictures
    Gallery,
    /// Write the documentation as a static site, and check its links
    Site {
        /// Directory of the site. Files of an earlier site are overwritten
        out: PathBuf,
    },
    /// Write a Markdown file as one HTML page, as GitHub would show it
    Render { markdown: PathBuf, out: PathBuf },
    /// Manage the fuzzing inputs
    #[command(subcommand)]
    Inputs(InputsCommand),
}

#[derive(clap::Args)]
struct PageTarget {
    /// Page to update, between its markers. If omitted, print the text
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

#[derive(Subcommand)]
enum InputsCommand {
    /// Write each input of a target to a separate file, named after its line
    Unpack { target: String, folder: PathBuf },
    /// Replace the inputs of a target with the files of a folder; saved inputs stay
    Pack { target: String, folder: PathBuf },
    /// Save an input that broke a target
    Keep {
        target: String,
        /// Description of the input, in a few words joined by hyphens
        name: String,
        input: PathBuf,
    },
}

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There is no way to report that stderr cannot be written.
            writeln!(std::io::stderr(), "picklock-lab: {error}").unwrap_or_default();
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Findings {
            files,
            limits,
            keep,
            target,
        } => {
            let is_library = |path: &PathBuf| path.extension().is_some_and(|it| it == "toml");
            let (words, matrices): (Vec<_>, Vec<_>) = files.into_iter().partition(is_library);
            if words.is_empty() {
                return Err(
                    "findings: no library: name its findings.toml next to the matrices".into(),
                );
            }
            let mut libraries: Vec<Library> = words
                .iter()
                .map(|path| Ok(Library::read(&text(path)?).map_err(|it| named(path, &it))?))
                .collect::<Result<_, Box<dyn Error>>>()?;
            if let Some(path) = limits {
                let limits = Limits::read(&text(&path)?).map_err(|it| named(&path, &it))?;
                for library in &mut libraries {
                    library.reading.extend(limits.reading.iter().cloned());
                }
            }
            let kept = target.page.as_ref().filter(|_| keep).map(|page| text(page));
            let kept = kept.transpose()?;
            let kept = kept.as_deref().and_then(between);
            target.write(&findings::page(&merge(load(&matrices)?), &libraries, kept))
        }
        Command::Servers { files, target } => target.write(&servers::by_server(&load(&files)?)?),
        Command::BugCorpus {
            seeds,
            runs,
            only,
            target,
        } => {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            let budget = bug_corpus::Budget {
                seeds,
                runs,
                threads,
            };
            let known_bugs = bug_corpus::KNOWN_BUGS
                .iter()
                .filter(|it| it.lock.contains(&only));
            let evaluations = known_bugs.map(|known_bug| {
                let evaluation = bug_corpus::evaluate(*known_bug, budget);
                // There is no way to report that stderr cannot be written.
                writeln!(std::io::stderr(), "{}", bug_corpus::row(&evaluation)).unwrap_or_default();
                evaluation
            });
            let evaluations: Vec<bug_corpus::Evaluation> = evaluations.collect();
            target.write(&bug_corpus::table(&evaluations, budget))
        }
        Command::Counterfactuals {
            violated,
            seed,
            target,
        } => target.write(&counterfactual_page(seed, violated)),
        Command::Gallery => write_gallery(),
        Command::Site { out } => write_site(&out),
        Command::Render { markdown, out } => {
            Ok(fs::write(out, site::single_page(&text(&markdown)?))?)
        }
        Command::Inputs(command) => inputs(command),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn write_site(out: &Path) -> Result<(), Box<dyn Error>> {
    let pages = site::write(&root(), out)?;
    Ok(writeln!(
        std::io::stdout(),
        "{}: {pages} pages",
        out.display()
    )?)
}

fn write_gallery() -> Result<(), Box<dyn Error>> {
    let examples = gallery::examples()?;
    let docs = root().join("docs");
    let pictures = docs.join("pictures/causes");
    fs::create_dir_all(&pictures)?;
    for one in &examples {
        let name = format!("{}.svg", one.cause.as_str());
        fs::write(pictures.join(name), &one.picture)?;
    }
    let page = Some(docs.join("causes.md"));
    PageTarget { page }.write(&gallery::page(&examples))
}

fn counterfactual_page(seed: u64, violated: u64) -> String {
    use counterfactual::{drawn, every_lock_in_the_catalog, needs_table, page, study};
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let catalog = study(every_lock_in_the_catalog(), u64::MAX, threads);
    let random = study(drawn(seed), violated, threads);
    format!("{}\n{}", needs_table(), page(&catalog.and(random)))
}

fn inputs(command: InputsCommand) -> Result<(), Box<dyn Error>> {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    match command {
        InputsCommand::Unpack { target, folder } => {
            fuzz_inputs::unpack(&corpora, &target, &folder)?;
        }
        InputsCommand::Pack { target, folder } => {
            let count = fuzz_inputs::pack(&corpora, &target, &folder)?;
            writeln!(std::io::stdout(), "{target}: {count} inputs")?;
        }
        InputsCommand::Keep {
            target,
            name,
            input,
        } => fuzz_inputs::keep(&corpora, &target, &name, &input)?,
    }
    Ok(())
}

fn named(path: &Path, error: &dyn Error) -> String {
    format!("{}: {error}", path.display())
}

fn text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| named(path, &error))
}

/// Loads the documents, each with the path that it was read from.
fn load(paths: &[PathBuf]) -> Result<Vec<(String, ReportInput)>, String> {
    let one = |path: &PathBuf| {
        let input = match read(&text(path)?).map_err(|error| named(path, &error))? {
            Document::Run(record) => from_run(*record, None),
            Document::Search(_) => return Err(format!("{}: it is a search", path.display())),
            Document::Matrix(matrix) => ReportInput {
                matrix: *matrix,
                ..ReportInput::default()
            },
        };
        Ok((path.display().to_string(), input))
    };
    paths.iter().map(one).collect()
}

impl PageTarget {
    fn write(&self, generated: &str) -> Result<(), Box<dyn Error>> {
        let Some(path) = &self.page else {
            return Ok(std::io::stdout().write_all(generated.as_bytes())?);
        };
        let page = replaced_between(&text(path)?, generated)
            .ok_or_else(|| format!("{} does not have both markers", path.display()))?;
        Ok(fs::write(path, page)?)
    }
}
