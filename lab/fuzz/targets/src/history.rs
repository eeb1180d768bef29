//! A history file: read, judged, and reported in every format.

use picklock_reports::combine::from_run;
use picklock_reports::{documents, terminal};
use picklock_verdicts::assemble::{About, assemble};
use picklock_verdicts::check::judge;
use picklock_verdicts::history::{History, read_history, write_history};
use picklock_verdicts::key_history::write_key_history;
use picklock_verdicts::latency;

use crate::reports_of;

/// Terminal widths, in columns.
const WIDTHS: [usize; 3] = [1, 60, 200];

/// Reads a history.
///
/// # Panics
/// Panics if the history reads differently after it was written.
pub fn run(input: &[u8]) {
    match read_history(input) {
        Ok(history) => use_it(history),
        Err(error) => drop(error.to_string()),
    }
}

/// Does what `picklock check` and `picklock report` do with a history.
///
/// # Panics
/// Panics if the history reads differently after it was written.
pub fn use_it(history: History) {
    let mut written = Vec::new();
    write_history(&history, &mut written).expect("memory can be written");
    let again = read_history(&written[..]).expect("a history that was written can be read");
    assert!(
        again == history,
        "it reads differently after it was written"
    );

    let about = About {
        latency: latency::from_history(&history),
        ..About::default()
    };
    let record = assemble(&history, judge(&history), about);
    drop(documents::json(&record));
    write_key_history(&history, &mut std::io::sink()).expect("nothing is written anywhere");
    for width in WIDTHS {
        drop(terminal::run(
            &record,
            &history,
            width,
            terminal::Detail::Everything,
        ));
    }
    reports_of::write_all(&from_run(record, Some(history)));
}
