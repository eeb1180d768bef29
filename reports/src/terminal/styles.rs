//! The styles of a report. A colour never carries information that the text lacks.

use anstyle::{AnsiColor, Effects, Style};
use picklock_verdicts::check::Status;

pub(super) const STRONG: Style = Style::new().bold();
pub(super) const FAINT: Style = Style::new().dimmed();
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
pub(super) const WARN: Style = AnsiColor::Yellow.on_default();
pub(super) const FAULT: Style = AnsiColor::Magenta.on_default();
pub(super) const COOL: Style = AnsiColor::Cyan.on_default();

/// The style of a status.
pub(super) fn style(status: Status) -> Style {
    match status {
        Status::Held => GOOD,
        Status::Violated => BAD,
        Status::Unknown => WARN,
        Status::NotApplicable => FAINT,
    }
}
