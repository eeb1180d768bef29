//! The grammar of random transcripts: templates, and pools of words to fill them with.

mod pools;
mod templates;

use proptest::prelude::*;

use crate::transcript::{CLIENTS, Step, word};
use pools::POOLS;
use templates::TEMPLATES;

/// Maximum length of a transcript, in commands.
const LONGEST: usize = 40;

/// Number of random choices available to one command.
const CHOICES: usize = 24;

/// Generates random transcripts. Zeros select the first template and the first words of the pools, so shrinking leads
/// to simple commands.
pub fn transcripts() -> impl Strategy<Value = Vec<Step>> {
    let step = (
        0..CLIENTS,
        any::<u16>(),
        any::<u8>(),
        proptest::collection::vec(any::<u16>(), CHOICES),
    );
    proptest::collection::vec(step, 1..LONGEST).prop_map(|raw| {
        let steps = raw.into_iter().enumerate();
        steps
            .map(|(place, (client, template, damage, choices))| {
                let mut filler = Filler {
                    place,
                    choices: choices.into_iter(),
                };
                let (_, template) = pick_weighted(template);
                let mut words = Vec::new();
                filler.fill(template, &mut words);
                filler.damage(damage, &mut words);
                Step { client, words }
            })
            .collect()
    })
}

fn pick_weighted(choice: u16) -> &'static (u32, &'static str) {
    let total: u32 = TEMPLATES.iter().map(|(weight, _)| weight).sum();
    let mut rest = u32::from(choice) % total;
    for row in TEMPLATES {
        if rest < row.0 {
            return row;
        }
        rest -= row.0;
    }
    &TEMPLATES[0]
}

struct Filler {
    /// Index of the command in its transcript.
    place: usize,
    choices: std::vec::IntoIter<u16>,
}

impl Filler {
    fn choice(&mut self, bound: usize) -> usize {
        usize::from(self.choices.next().unwrap_or(0)) % bound
    }

    /// Fills a template: `{pool}` is one word, `{pool?}` at most one, `{pool*}` up to three.
    fn fill(&mut self, template: &str, words: &mut Vec<Vec<u8>>) {
        for part in template.split(' ').filter(|part| !part.is_empty()) {
            let Some(name) = part
                .strip_prefix('{')
                .and_then(|part| part.strip_suffix('}'))
            else {
                words.push(word(part));
                continue;
            };
            let (name, count) = match name.as_bytes().last() {
                Some(b'?') => (&name[..name.len() - 1], self.choice(2)),
                Some(b'*') => (&name[..name.len() - 1], self.choice(4)),
                _ => (name, 1),
            };
            for _ in 0..count {
                self.fill_from(name, words);
            }
        }
    }

    fn fill_from(&mut self, pool: &str, words: &mut Vec<Vec<u8>>) {
        let place = self.place;
        match pool {
            // Relative leases within a transcript differ by at least ten seconds, so that GT and LT do not depend on
            // milliseconds.
            "seconds" => {
                let base = [1000, 2000, 5000][self.choice(3)];
                words.push((base + 10 * place).to_string().into_bytes());
            }
            "millis" => {
                let base = [1000, 2000, 5000][self.choice(3)];
                words.push(((base + 10 * place + 5) * 1000).to_string().into_bytes());
            }
            _ => {
                let (_, entries) = POOLS
                    .iter()
                    .find(|(name, _)| *name == pool)
                    .unwrap_or_else(|| panic!("no pool {pool}"));
                let entry = entries[self.choice(entries.len())];
                self.fill(entry, words);
            }
        }
    }

    /// Damages some commands: removes, adds or replaces a word.
    fn damage(&mut self, damage: u8, words: &mut Vec<Vec<u8>>) {
        let waits = words[0]
            .first()
            .is_some_and(|first| first.eq_ignore_ascii_case(&b'B'));
        let is = |word: &Vec<u8>, name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        let leases = words
            .iter()
            .any(|word| ["EX", "PX", "PSETEX"].iter().any(|name| is(word, name)));
        match damage {
            // Without its zero timeout, a blocking command would really wait.
            1..=24 if waits => {}
            1..=6 if words.len() > 1 => {
                words.pop();
            }
            7..=10 => words.push(b"extra".to_vec()),
            11..=20 if words.len() > 1 => {
                let place = 1 + self.choice(words.len() - 1);
                let mut odd = Vec::new();
                self.fill_from("odd", &mut odd);
                words[place] = odd.remove(0);
            }
            // A value in place of a lease may expire before the next command.
            21..=24 if words.len() > 2 && !leases => {
                let (one, other) = (1 + self.choice(words.len() - 1), words.len() - 1);
                words.swap(one, other);
            }
            _ => {}
        }
    }
}
