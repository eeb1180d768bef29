//! Renders Markdown for a terminal: wrapped at words, with bold headings, aligned tables and indented code.

use anstyle::Style;
use console::measure_text_width;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

const BOLD: Style = Style::new().bold();
const TITLE: Style = Style::new().bold().underline();
const ITALIC: Style = Style::new().italic();
const CODE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(anstyle::AnsiColor::Cyan)));
const LINK: Style = Style::new().underline();

/// Number of columns between two columns of a table.
const GAP: usize = 2;

/// A page for the terminal, and the links in it.
pub struct Rendered {
    /// The text, with ANSI styles.
    pub text: String,
    /// The targets of the links, in the order of their first appearance, each once.
    pub links: Vec<String>,
}

/// Renders a page for a terminal of this width.
pub fn render(markdown: &str, width: usize) -> Rendered {
    let mut page = Page {
        width,
        ..Page::default()
    };
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        page.add(event);
    }
    Rendered {
        text: page.text,
        links: page.links,
    }
}

#[derive(Default)]
struct Page {
    width: usize,
    text: String,
    links: Vec<String>,
    /// The paragraph, heading or table cell that is being read.
    inline: String,
    /// The styles that apply to the text that comes next.
    styles: Vec<Style>,
    /// For each enclosing list, the number of its next item, or `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The prefix of each line: indents of lists, and the bars of quotations.
    indent: String,
    /// The marker of the item that has just begun.
    marker: Option<String>,
    table: Vec<Vec<String>>,
    is_code_block: bool,
}

impl Page {
    fn add(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.is_code_block => self.code_block(&text),
            Event::Text(text) => self.inline.push_str(&text),
            Event::Code(code) => {
                self.push_style(CODE);
                self.inline.push_str(&code);
                self.pop_style();
            }
            Event::SoftBreak => self.inline.push(' '),
            Event::HardBreak => self.inline.push('\n'),
            Event::Rule => {
                self.blank_line();
                let line = "─".repeat(self.width.min(40));
                self.text.push_str(&format!("{}{line}\n", self.indent));
            }
            _ => {}
        }
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.blank_line();
                let is_title = level == HeadingLevel::H1;
                self.push_style(if is_title { TITLE } else { BOLD });
            }
            Tag::Paragraph => self.blank_line(),
            Tag::BlockQuote(_) => {
                self.blank_line();
                self.indent.push_str("│ ");
            }
            Tag::CodeBlock(_) => {
                self.write_inline();
                self.blank_line();
                self.is_code_block = true;
            }
            Tag::List(first) => {
                self.write_inline();
                if self.lists.is_empty() {
                    self.blank_line();
                }
                self.lists.push(first);
            }
            Tag::Item => self.marker = Some(self.next_marker()),
            Tag::Table(_) => self.blank_line(),
            Tag::TableRow | Tag::TableHead => self.table.push(Vec::new()),
            Tag::Emphasis => self.push_style(ITALIC),
            Tag::Strong => self.push_style(BOLD),
            Tag::Link { dest_url, .. } => {
                self.add_link(&dest_url);
                self.push_style(LINK);
            }
            Tag::Image { .. } => self.inline.push_str("[picture: "),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.pop_style();
                self.write_inline();
            }
            TagEnd::Paragraph => self.write_inline(),
            TagEnd::BlockQuote(_) => self.indent.truncate(self.indent.len() - "│ ".len()),
            TagEnd::CodeBlock => self.is_code_block = false,
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => {
                self.write_inline();
                let marker_width = self.marker_width();
                self.indent.truncate(self.indent.len() - marker_width);
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                self.table
                    .last_mut()
                    .into_iter()
                    .for_each(|row| row.push(cell.clone()));
            }
            TagEnd::Table => self.write_table(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Link => self.pop_style(),
            TagEnd::Image => self.inline.push(']'),
            _ => {}
        }
    }

    fn add_link(&mut self, target: &str) {
        if !self.links.iter().any(|known| known == target) {
            self.links.push(target.to_owned());
        }
    }

    fn push_style(&mut self, style: Style) {
        self.inline.push_str(&style.render().to_string());
        self.styles.push(style);
    }

    /// Ends the innermost style. A reset ends all of them, so the others begin again.
    fn pop_style(&mut self) {
        self.styles.pop();
        self.inline.push_str(&anstyle::Reset.render().to_string());
        for style in &self.styles {
            self.inline.push_str(&style.render().to_string());
        }
    }

    /// Returns the marker of the next item, and indents the lines below it.
    fn next_marker(&mut self) -> String {
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{:<4}", format!("{}.", *number - 1))
            }
            _ => "- ".to_owned(),
        };
        self.indent.push_str(&" ".repeat(marker.len()));
        marker
    }

    fn marker_width(&self) -> usize {
        let is_numbered = self.lists.last().is_some_and(Option::is_some);
        if is_numbered { 4 } else { 2 }
    }

    /// Ends a block with an empty line, unless this is the first line of the page or of an item.
    fn blank_line(&mut self) {
        if self.marker.is_none() && !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn write_inline(&mut self) {
        let inline = std::mem::take(&mut self.inline);
        if inline.trim().is_empty() {
            return;
        }
        let room = self.width.saturating_sub(measure_text_width(&self.indent));
        for line in wrap(&inline, room) {
            self.write_line(&line);
        }
    }

    /// Writes a line. The first line of an item has its marker in place of the indent.
    fn write_line(&mut self, line: &str) {
        match self.marker.take() {
            Some(marker) => {
                let outer = self.indent.len() - marker.len();
                self.text.push_str(&self.indent[..outer]);
                self.text.push_str(&marker);
            }
            None => self.text.push_str(&self.indent),
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes lines of code as they are, because a command that is wrapped cannot be copied.
    fn code_block(&mut self, code: &str) {
        for line in code.lines() {
            self.write_line(&format!("    {CODE}{line}{CODE:#}"));
        }
    }

    fn write_table(&mut self) {
        let rows = std::mem::take(&mut self.table);
        let room = self.width.saturating_sub(measure_text_width(&self.indent));
        let widths = column_widths(&rows, room);
        for (index, row) in rows.iter().enumerate() {
            let cells: Vec<Vec<String>> = (row.iter().zip(&widths))
                .map(|(cell, width)| wrap(cell, *width))
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for line in 0..height {
                let mut text = String::new();
                for (cell, width) in cells.iter().zip(&widths) {
                    let part = cell.get(line).map_or("", String::as_str);
                    let padding = (width + GAP).saturating_sub(measure_text_width(part));
                    text.push_str(part);
                    text.push_str(&" ".repeat(padding));
                }
                self.write_line(text.trim_end());
            }
            if index == 0 {
                let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
                self.write_line(&"─".repeat(total));
            } else if height > 1 && index + 1 < rows.len() {
                self.write_line("");
            }
        }
    }
}

/// Returns the width of each column of a table. If the table is wider than `room`, the widest columns are narrowed, but
/// none below its longest word.
fn column_widths(rows: &[Vec<String>], room: usize) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize, measure: fn(&str) -> usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| measure(cell)).max().unwrap_or(0)
    };
    let longest_word = |cell: &str| cell.split(' ').map(measure_text_width).max().unwrap_or(0);
    let minimum: Vec<usize> = (0..columns).map(|it| widest(it, longest_word)).collect();
    let mut widths: Vec<usize> = (0..columns)
        .map(|it| widest(it, measure_text_width))
        .collect();
    let room = room.saturating_sub(GAP * columns.saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        let shrinkable = (0..columns).filter(|it| widths[*it] > minimum[*it]);
        let Some(column) = shrinkable.max_by_key(|it| widths[*it]) else {
            break;
        };
        widths[column] -= 1;
    }
    widths
}

/// Splits a text into lines at spaces and hard breaks. A word that is longer than a line has its own line.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let (mut line, mut used) = (String::new(), 0);
        for word in paragraph.split(' ').filter(|word| !word.is_empty()) {
            let length = measure_text_width(word);
            if used > 0 && used + 1 + length > width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += length;
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(markdown: &str, width: usize) -> String {
        let text = render(markdown, width).text;
        console::strip_ansi_codes(&text).into_owned()
    }

    #[test]
    fn paragraphs_and_items_are_wrapped_at_words() {
        let page = "# Title\n\nOne two **three** `four` five.\n\n- first item that is long\n  - inner\n- second\n\n1. one\n2. two\n";
        let expected = "Title\n\nOne two\nthree four\nfive.\n\n- first item\n  that is\n  long\n  - inner\n- second\n\n1.  one\n2.  two\n";
        assert_eq!(plain(page, 12), expected);
    }

    #[test]
    fn code_is_indented_and_not_wrapped() {
        let page = "Run:\n\n```sh\npicklock scenario gc-pause\n# comment\n```\n\nDone.\n";
        let expected = "Run:\n\n    picklock scenario gc-pause\n    # comment\n\nDone.\n";
        assert_eq!(plain(page, 12), expected);
    }

    #[test]
    fn table_is_aligned_and_fits() {
        let page = "| a | meaning |\n|---|---|\n| `x` | one two three four |\n| long | y |\n";
        let expected =
            "a     meaning\n─────────────────\nx     one two\n      three four\n\nlong  y\n";
        assert_eq!(plain(page, 17), expected);
    }

    #[test]
    fn links_are_collected_once() {
        let page = "[a](x.md#b), [c](x.md#b), [`d`](y.md) ![e](p.svg)\n";
        let rendered = render(page, 80);
        assert_eq!(rendered.links, ["x.md#b", "y.md"]);
        assert_eq!(plain(page, 80), "a, c, d [picture: e]\n");
    }

    #[test]
    fn outer_style_goes_on_after_an_inner_one() {
        let text = render("**a `b` c**\n", 80).text;
        let after_code = text.split('b').nth(1).unwrap_or_default();
        assert!(after_code.contains(&format!("{BOLD} c")), "{text:?}");
    }
}
