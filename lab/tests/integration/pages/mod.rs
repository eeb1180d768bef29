//! The pages about libraries and servers.

use picklock_verdicts::check::{Status, Verdict};

mod findings;
mod numbers;
mod program;
mod servers;

#[path = "../../../../reports/tests/reports/cell.rs"]
mod cell;

pub use cell::{cell, violated};

/// A name with everything that could break a report.
pub const HOSTILE: &str = "a|b`c`</pre></details><script>alert(1)</script>@team #1 https://x.y\n\
                           ]]>\u{1b}[31m\u{0}\u{fffe}\u{202e}\"'&amp; 🔒";

/// Returns an `unknown` verdict with this explanation.
pub fn inconclusive(words: &str) -> Verdict {
    Verdict {
        status: Status::Unknown,
        story: vec![words.to_owned()],
        ..Verdict::held()
    }
}
