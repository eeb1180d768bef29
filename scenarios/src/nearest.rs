//! Finds the nearest valid word for a mistyped one.

/// Returns the candidate that is closest to `word`, or `None` if none is close enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            let distance = strsim::damerau_levenshtein(&folded, &candidate.to_lowercase());
            (distance, candidate)
        })
        .filter(|(distance, candidate)| {
            // Up to a third of the letters may be wrong. A prefix also counts.
            let begins = folded.len() >= 2 && candidate.to_lowercase().starts_with(&folded);
            begins || *distance <= (candidate.chars().count().max(3) / 3)
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Returns the question "did you mean ...?" for the nearest known word, or `None` if none is close enough.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, known).map(|meant| format!("did you mean `{meant}`?"))
}
