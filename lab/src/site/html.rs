//! A page of the site: its Markdown as HTML, between the table of contents and the links to its neighbours.

use std::path::Path;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

use super::place::{CONTENTS, address, resolved};

/// A page before it is written.
pub(super) struct Page {
    pub(super) markdown: String,
    /// The targets of its links and pictures within the repository.
    pub(super) links: Vec<String>,
    /// The anchors of its headings.
    pub(super) anchors: Vec<String>,
    title: String,
}

/// A link in the table of contents.
pub(super) struct Chapter {
    title: String,
    link: String,
    /// The title of the part that begins with this chapter.
    part: Option<String>,
    is_indented: bool,
}

fn events(markdown: &str) -> Vec<Event<'_>> {
    Parser::new_ext(markdown, Options::ENABLE_TABLES).collect()
}

fn is_own(link: &str) -> bool {
    !link.contains("://") && !link.starts_with("mailto:")
}

impl Page {
    pub(super) fn new(markdown: String) -> Page {
        let all = events(&markdown);
        let targets = all.iter().filter_map(|event| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some(dest_url)
            }
            _ => None,
        });
        let links = targets
            .filter(|it| is_own(it))
            .map(|it| it.to_string())
            .collect();
        let headings = headings(&all);
        let title = headings
            .first()
            .map_or(String::new(), |(_, text)| text.clone());
        let anchors = anchors(&headings);
        drop(all);
        Page {
            markdown,
            links,
            anchors,
            title,
        }
    }
}

/// Returns the headings: the position of the event that begins each, and its text.
fn headings(events: &[Event<'_>]) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut is_heading = false;
    for (place, event) in events.iter().enumerate() {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                is_heading = true;
                found.push((place, String::new()));
            }
            Event::End(TagEnd::Heading(_)) => is_heading = false,
            Event::Text(text) | Event::Code(text) if is_heading => {
                found
                    .last_mut()
                    .into_iter()
                    .for_each(|(_, title)| title.push_str(text));
            }
            _ => {}
        }
    }
    found
}

/// Returns the anchors of headings, as GitHub generates them: a repeated heading gets a number.
fn anchors(headings: &[(usize, String)]) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for (_, title) in headings {
        let is_kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
        let kept: String = title.chars().filter(is_kept).collect();
        let anchor = kept.to_lowercase().replace(' ', "-");
        let before = headings.iter().take(anchors.len());
        let repeats = before.filter(|(_, earlier)| earlier == title).count();
        anchors.push(if repeats == 0 {
            anchor
        } else {
            format!("{anchor}-{repeats}")
        });
    }
    anchors
}

/// Returns the chapters that the page with the table of contents lists, in its order.
pub(super) fn chapters(contents: &str) -> Vec<Chapter> {
    let mut chapters = vec![Chapter {
        title: "Picklock".to_owned(),
        link: "../README.md".to_owned(),
        part: None,
        is_indented: false,
    }];
    let (mut depth, mut link) = (0_usize, None);
    let (mut part, mut is_strong, mut title) = (None, false, String::new());
    for event in events(contents) {
        match event {
            Event::Start(Tag::List(_)) => depth += 1,
            Event::End(TagEnd::List(_)) => depth -= 1,
            Event::Start(Tag::Strong) => is_strong = true,
            Event::End(TagEnd::Strong) => is_strong = false,
            Event::Start(Tag::Link { dest_url, .. }) if depth > 0 => {
                link = Some(dest_url.to_string());
                title.clear();
            }
            Event::End(TagEnd::Link) => chapters.extend(link.take().map(|link| Chapter {
                title: title.clone(),
                link,
                part: part.take(),
                is_indented: depth > 1,
            })),
            Event::Text(text) if is_strong && depth == 0 => part = Some(text.to_string()),
            Event::Text(text) | Event::Code(text) => title.push_str(&text),
            _ => {}
        }
    }
    chapters
}

/// Returns the whole document of a page.
pub(super) fn document(path: &Path, page: &Page, chapters: &[Chapter]) -> String {
    let here = address(path);
    let contents = Path::new(CONTENTS);
    let up = "../".repeat(here.components().count() - 1);
    let targets: Vec<_> = chapters
        .iter()
        .map(|it| address(&resolved(contents, &it.link)))
        .collect();
    let place = targets.iter().position(|target| *target == here);
    let mut sidebar = String::new();
    for (index, (chapter, target)) in chapters.iter().zip(&targets).enumerate() {
        if let Some(part) = &chapter.part {
            sidebar.push_str(&format!("<h2>{}</h2>\n", escaped(part)));
        }
        let indented = if chapter.is_indented {
            " class=\"inner\""
        } else {
            ""
        };
        let current = if place == Some(index) {
            " aria-current=\"page\""
        } else {
            ""
        };
        let (link, title) = (target.display(), escaped(&chapter.title));
        sidebar.push_str(&format!(
            "<a{indented}{current} href=\"{up}{link}\">{title}</a>\n"
        ));
    }
    let neighbour = |index: Option<usize>, words: &str| {
        let found = index.and_then(|index| Some((chapters.get(index)?, targets.get(index)?)));
        found.map_or(String::new(), |(chapter, target)| {
            let (link, title) = (target.display(), escaped(&chapter.title));
            format!("<a href=\"{up}{link}\">{words} {title}</a>")
        })
    };
    let before = neighbour(place.and_then(|it| it.checked_sub(1)), "←");
    let after = neighbour(place.map(|it| it + 1), "→");
    let title = escaped(&page.title);
    let body = body(page);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} · Picklock</title>\n\
         <link rel=\"stylesheet\" href=\"{up}style.css\">\n<details class=\"contents\"><summary>Contents</summary>\n\
         <nav>\n{sidebar}</nav></details>\n<nav class=\"side\" aria-label=\"Contents\">\n{sidebar}</nav>\n<main>\n{body}\n\
         <footer>{before}{after}</footer>\n</main>\n</html>\n"
    )
}

/// Returns a standalone page: with an inline style sheet, and without the table of contents.
pub(super) fn alone(page: &Page, style: &str) -> String {
    let (title, body) = (escaped(&page.title), body(page));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>{style} main {{ margin: auto; }}</style>\n<main>\n{body}\n</main>\n</html>\n"
    )
}

/// Returns the Markdown as HTML, with anchors, links to the pages of the site, and tables that scroll by themselves.
fn body(page: &Page) -> String {
    let mut all = events(&page.markdown);
    for ((place, _), anchor) in headings(&all).into_iter().zip(&page.anchors) {
        if let Some(Event::Start(Tag::Heading { id, .. })) = all.get_mut(place) {
            *id = Some(CowStr::from(anchor.clone()));
        }
    }
    let all = all.into_iter().flat_map(|event| match event {
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => {
            let dest_url = CowStr::from(in_site(&dest_url));
            vec![Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            })]
        }
        Event::Start(Tag::Table(_)) => vec![Event::Html("<div class=\"table\">".into()), event],
        Event::End(TagEnd::Table) => vec![event, Event::Html("</div>".into())],
        other => vec![other],
    });
    let mut text = String::new();
    pulldown_cmark::html::push_html(&mut text, all);
    text
}

/// Returns a link to a page of the repository as a link to that page of the site.
fn in_site(link: &str) -> String {
    if !is_own(link) {
        return link.to_owned();
    }
    let (file, anchor) = link
        .split_once('#')
        .map_or((link, None), |(file, it)| (file, Some(it)));
    let mut target = if file.ends_with('/') {
        format!("{file}index.html")
    } else if file.ends_with(".md") {
        address(Path::new(file)).display().to_string()
    } else {
        file.to_owned()
    };
    if let Some(anchor) = anchor {
        target = format!("{target}#{anchor}");
    }
    target
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_of_the_site() {
        let links = [
            ("gate.md#limits", "gate.html#limits"),
            ("../README.md", "../index.html"),
            ("../scenarios/explain/", "../scenarios/explain/index.html"),
            ("pictures/a.svg", "pictures/a.svg"),
            ("#one", "#one"),
            ("https://redis.io/a.md", "https://redis.io/a.md"),
        ];
        for (link, expected) in links {
            assert_eq!(in_site(link), expected);
        }
    }

    #[test]
    fn repeated_headings_have_different_anchors() {
        let page = Page::new("# A b, `c`!\n\n## x\n\n## x\n\n[y](z.md) ![w](v.svg)\n".to_owned());
        assert_eq!(page.anchors, ["a-b-c", "x", "x-1"]);
        assert_eq!(page.links, ["z.md", "v.svg"]);
        assert!(body(&page).contains("<h2 id=\"x-1\">"));
    }

    #[test]
    fn contents_have_parts_and_inner_pages() {
        let chapters = chapters("**Begin**\n\n1. [A *b*](a.md): words\n   - [C](c.md)\n");
        let read: Vec<_> = chapters
            .iter()
            .map(|it| (it.title.as_str(), it.is_indented))
            .collect();
        assert_eq!(read, [("Picklock", false), ("A b", false), ("C", true)]);
        assert_eq!(chapters[1].part.as_deref(), Some("Begin"));
    }
}
