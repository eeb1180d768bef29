//! `picklock docs`: the pages of `docs/`, embedded in the binary.

use std::io::IsTerminal;

use picklock_reports::inert;
use picklock_reports::inert::Inert;

use crate::cli::DocsArgs;
use crate::exit::Failure;
use crate::terminal_markdown::render;
use crate::usage_hint::or_meant;
use crate::{pager, print};

/// Maximum width of a page on a terminal, in columns. Longer lines are hard to read.
const MAX_WIDTH: usize = 100;

/// A page: its name and its Markdown.
struct Page {
    name: &'static str,
    text: &'static str,
}

macro_rules! pages {
    ($($name:literal),* $(,)?) => {
        &[$(Page { name: $name, text: include_str!(concat!("../docs/", $name, ".md")) }),*]
    };
}

/// The pages, in recommended reading order.
const PAGES: &[Page] = pages![
    "first-run",
    "how-it-works",
    "verdicts",
    "adapters",
    "protocol",
    "trial",
    "scenarios",
    "causes",
    "remedies",
    "configuration",
    "sentinel",
    "cluster",
    "application",
    "python",
    "node",
    "go",
    "java",
    "csharp",
    "proxy",
    "matrix",
    "gate",
    "reports",
    "replay",
    "search",
    "simulation",
    "key-history",
    "redis-model",
    "servers",
    "other-users",
    "security",
];

/// Prints a page, one paragraph of it (`protocol#granted`), or the list of all pages. A terminal gets the rendered
/// page, in a pager if it is long; a file or a pipe gets the Markdown.
///
/// # Errors
/// Returns an error with the nearest name if there is no such page or paragraph.
pub fn run(args: &DocsArgs) -> Result<(), Failure> {
    let Some(wanted) = args.page.as_deref() else {
        print::out(&Inert::with_styles(&index()));
        return Ok(());
    };
    let markdown = page(wanted)?;
    if std::io::stdout().is_terminal() {
        let rendered = for_terminal(&markdown, print::width().min(MAX_WIDTH));
        pager::show(&Inert::with_styles(&rendered));
    } else {
        print::out(&Inert::with_styles(&markdown));
    }
    Ok(())
}

/// Returns the rendered page, with the commands that show the pages it links to.
fn for_terminal(markdown: &str, width: usize) -> String {
    let rendered = render(markdown, width);
    let mut text = rendered.text;
    let mut commands: Vec<String> = Vec::new();
    for link in &rendered.links {
        commands.extend(command_for(link).filter(|it| !commands.contains(it)));
    }
    if !commands.is_empty() {
        text.push_str("\nSee also:\n");
    }
    for command in commands {
        text.push_str(&format!("  {command}\n"));
    }
    text
}

/// Returns the command that shows the page a link leads to, or `None` if the binary does not contain that page.
fn command_for(link: &str) -> Option<String> {
    let (file, paragraph) = link.split_once('#').unwrap_or((link, ""));
    let name = file.strip_suffix(".md")?;
    if let Some((folder, topic)) = name.rsplit_once('/') {
        return folder
            .ends_with("/explain")
            .then(|| format!("picklock explain {topic}"));
    }
    PAGES.iter().find(|page| page.name == name)?;
    Some(match paragraph {
        "" => format!("picklock docs {name}"),
        paragraph => format!("picklock docs {name}#{paragraph}"),
    })
}

fn index() -> String {
    let widest = PAGES.iter().map(|page| page.name.len()).max().unwrap_or(0);
    let mut text = "Pages of the documentation (`picklock docs PAGE`):\n\n".to_owned();
    for page in PAGES {
        let title = page.text.lines().next().unwrap_or_default();
        let title = title.trim_start_matches('#').trim();
        text.push_str(&format!("  {:widest$}  {title}\n", page.name));
    }
    text.push_str("\n`picklock explain` describes scenarios, properties, causes and locks.\n");
    text
}

/// Returns a page by its name, with or without `docs/` and `.md`. A heading may follow after `#`.
fn page(wanted: &str) -> Result<String, Failure> {
    let (name, paragraph) = match wanted.split_once('#') {
        Some((name, paragraph)) => (name, Some(paragraph)),
        None => (wanted, None),
    };
    let name = name.strip_prefix("docs/").unwrap_or(name);
    let name = name.strip_suffix(".md").unwrap_or(name);
    let names = || PAGES.iter().map(|page| page.name);
    let Some(page) = PAGES.iter().find(|page| page.name == name) else {
        return Err(unknown("page", name, names(), "`picklock docs` lists them"));
    };
    let Some(wanted) = paragraph else {
        return Ok(page.text.to_owned());
    };
    under_heading(page.text, wanted).ok_or_else(|| {
        let headings = lines(page.text).filter_map(|(_, heading)| heading);
        let anchors: Vec<String> = headings.map(|(_, title)| anchor(title)).collect();
        let where_ = format!("`picklock docs {name}` is the whole page");
        let anchors = anchors.iter().map(String::as_str);
        unknown("paragraph", wanted, anchors, &where_)
    })
}

fn unknown<'a>(
    what: &str,
    name: &str,
    all: impl Iterator<Item = &'a str>,
    where_: &str,
) -> Failure {
    let shown: String = name.chars().take(60).collect();
    let hint = or_meant(name, all);
    Failure::Usage(inert!(
        "there is no {} `{}`{} ({})",
        what,
        shown,
        Inert::lines(&hint),
        where_
    ))
}

/// Returns the depth and the title of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let depth = line.len() - title.len();
    Some((depth, title.strip_prefix(' ').filter(|_| depth > 0)?))
}

/// Returns each line, with depth and title if it is a heading. Inside a code block, `#` begins a comment.
fn lines(text: &str) -> impl Iterator<Item = (&str, Option<(usize, &str)>)> {
    let mut is_code = false;
    text.lines().map(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (line, heading(line).filter(|_| !is_code && !is_fence))
    })
}

/// Returns the anchor that links use for a heading, as GitHub generates it.
fn anchor(title: &str) -> String {
    let is_saved = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    let kept: String = title.chars().filter(is_saved).collect();
    kept.to_ascii_lowercase().replace(' ', "-")
}

/// Returns a heading with everything below it, up to the next heading of the same or a higher level.
fn under_heading(text: &str, wanted: &str) -> Option<String> {
    let mut depth = None;
    let mut found = String::new();
    for (line, heading) in lines(text) {
        match (heading, depth) {
            (Some((its, _)), Some(above)) if its <= above => break,
            (Some((its, title)), None) if anchor(title) == wanted => depth = Some(its),
            _ => {}
        }
        if depth.is_some() {
            found.push_str(line);
            found.push('\n');
        }
    }
    depth.map(|_| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_a_user_is_carried() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/docs");
        let files = std::fs::read_dir(folder).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        // The program does not contain the index, which links to files of the repository, and the page for
        // contributors.
        let for_users = names
            .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
            .filter(|name| !["README", "extending"].contains(&name.as_str()));
        let mut for_users: Vec<String> = for_users.collect();
        let mut carried: Vec<&str> = PAGES.iter().map(|page| page.name).collect();
        for_users.sort();
        carried.sort_unstable();
        assert_eq!(for_users, carried);
    }

    #[test]
    fn paragraph_ends_where_the_next_one_begins() {
        let text = "# A\n\n## One thing\n\nx\n```sh\n# no heading\n```\n### deeper\ny\n## Two\nz\n";
        let found = under_heading(text, "one-thing").unwrap();
        assert!(
            found.starts_with("## One thing") && found.ends_with("### deeper\ny\n"),
            "{found}"
        );
        assert!(under_heading(text, "no-heading").is_none());
    }

    #[test]
    fn links_become_commands() {
        let links = [
            ("gate.md", Some("picklock docs gate")),
            (
                "protocol.md#granted",
                Some("picklock docs protocol#granted"),
            ),
            (
                "../scenarios/explain/race.md",
                Some("picklock explain race"),
            ),
            ("../lab/pages/mutants.md", None),
            ("https://redis.io/x.md", None),
            ("pictures/how-it-works.svg", None),
        ];
        for (link, command) in links {
            assert_eq!(command_for(link).as_deref(), command, "{link}");
        }
        let page = for_terminal("[a](gate.md) and [b](gate.md)\n", 80);
        assert!(
            page.ends_with("\n\nSee also:\n  picklock docs gate\n"),
            "{page}"
        );
    }

    #[test]
    fn pages_fit_a_terminal_of_eighty_columns() {
        for page in PAGES {
            let text = for_terminal(page.text, 80);
            for line in console::strip_ansi_codes(&text).lines() {
                // Code is not wrapped, and a word or a row of a table may be longer than a line.
                let is_prose = !line.starts_with(' ') && !line.contains("  ");
                let is_long =
                    is_prose && line.contains(' ') && console::measure_text_width(line) > 80;
                assert!(!is_long, "{}: {line}", page.name);
            }
        }
    }

    #[test]
    fn wrong_names_get_the_nearest_right_one() {
        for (wanted, nearest) in [("protocl", "`protocol`"), ("protocol#grante", "`granted`")] {
            let error = page(wanted).unwrap_err().text().to_string();
            assert!(error.contains(nearest), "{error}");
        }
        assert!(
            page("docs/protocol.md#granted")
                .unwrap()
                .contains("granted")
        );
    }
}
