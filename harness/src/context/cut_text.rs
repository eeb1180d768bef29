//! Cuts texts of the lock, such as error messages, before they are recorded in the history. A text may be as long as a
//! line of the protocol, which is a mebibyte.

use crate::history::EventKind;

/// Maximum length of a text in characters. A cut text contains a note.
const MAX_CHARS: usize = 500;

/// Cuts the texts of the lock in an event.
pub(super) fn cut_texts(what: &mut EventKind) {
    match what {
        EventKind::Granted { token: text, .. }
        | EventKind::ExtendGranted { token: text, .. }
        | EventKind::AcquireFailed { message: text, .. }
        | EventKind::ExtendFailed { message: text, .. }
        | EventKind::ReleaseFailed { message: text, .. }
        | EventKind::Misbehaved { detail: text, .. }
        | EventKind::FaultMissed { reason: text, .. }
        | EventKind::FaultNotUndone { reason: text, .. }
        | EventKind::StockUnknown { reason: text }
        | EventKind::FinalInspectionFailed { reason: text }
        | EventKind::CommandUnknown { command: text }
        | EventKind::ExtensionUntested {
            unsupported: Some(text),
        }
        | EventKind::LeaseRefused { message: text, .. }
        | EventKind::SentinelsRefused { message: text }
        | EventKind::WorkerDown { reason: text, .. } => cut(text),
        _ => {}
    }
}

fn cut(text: &mut String) {
    // Each character has at least one byte.
    if text.len() <= MAX_CHARS {
        return;
    }
    if let Some((end, _)) = text.char_indices().nth(MAX_CHARS) {
        let whole = text.len();
        text.truncate(end);
        text.push_str(&format!("… (cut: {whole} bytes in all)"));
        text.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_to(mut text: String) -> String {
        cut(&mut text);
        text
    }

    #[test]
    fn cut_text_contains_a_note() {
        let long = cut_to("é".repeat(MAX_CHARS + 1));
        assert_eq!(
            long,
            format!("{}… (cut: 1002 bytes in all)", "é".repeat(MAX_CHARS))
        );
        for short in [String::new(), "é".repeat(MAX_CHARS), "x".repeat(MAX_CHARS)] {
            assert_eq!(cut_to(short.clone()), short);
        }
    }

    #[test]
    fn long_token_is_cut() {
        let mut granted = EventKind::Granted {
            worker: 0,
            op: 1,
            token: "t".repeat(1 << 20),
            fence: None,
            valid_ms: None,
            elapsed_ms: None,
        };
        cut_texts(&mut granted);
        assert!(matches!(granted, EventKind::Granted { token, .. } if token.len() < 600));
    }
}
