//! A problem in a scenario, with the path to it in the file.

/// A problem in a scenario.
pub(crate) struct Problem {
    pub(crate) path: Vec<String>,
    pub(crate) text: String,
    pub(crate) hint: Option<String>,
}

impl Problem {
    pub(crate) fn at(path: &[&str], text: impl Into<String>) -> Self {
        Problem {
            path: path.iter().map(|part| (*part).to_owned()).collect(),
            text: text.into(),
            hint: None,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the path as people write it: `fault[0].when`.
    pub(crate) fn path_text(&self) -> String {
        let mut text = String::new();
        for part in &self.path {
            match part.parse::<usize>() {
                Ok(_) => text.push_str(&format!("[{part}]")),
                Err(_) if text.is_empty() => text.push_str(part),
                Err(_) => text.push_str(&format!(".{part}")),
            }
        }
        text
    }
}
