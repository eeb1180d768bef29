//! A lock as the user names it: a built-in lock, a lock of `picklock.toml`, a program, or a program with a label.
//!
//! A label replaces the command of a program in reports, directory names and expectations, where a
//! command line of many words would be hard to read.

use picklock_harness::adapter::command_line;
use picklock_harness::adapter::worker_command::WorkerCommand;
use picklock_harness::spec::LockSpec;
use picklock_impls::find;

/// Prefix of a command line that starts a program.
pub const EXEC: &str = "exec:";

/// Prefix of an image whose containers run a program.
pub const DOCKER: &str = "docker:";

/// Maximum length of a label in characters, because it becomes part of file names and of table columns.
const MAX_LABEL_LENGTH: usize = 64;

/// A lock as given by `--impl` or `--name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedLock {
    given: String,
    label: Option<String>,
}

impl NamedLock {
    /// Creates a lock without a label: the name of a built-in or configured lock, `exec:COMMAND`, or `docker:IMAGE`.
    /// Whether the lock exists is checked later.
    pub fn plain(given: &str) -> NamedLock {
        NamedLock {
            given: given.to_owned(),
            label: None,
        }
    }

    /// Creates a program with a label.
    ///
    /// # Errors
    /// Returns a message if `given` is not a program, or if the label is invalid.
    pub fn labelled(label: &str, given: &str) -> Result<NamedLock, String> {
        if !is_program(given) {
            return Err(format!(
                "only a program can have a label: expected LABEL={EXEC}COMMAND or LABEL={DOCKER}IMAGE"
            ));
        }
        check_label(label)?;
        Ok(NamedLock {
            given: given.to_owned(),
            label: Some(label.to_owned()),
        })
    }

    /// Parses `LABEL=exec:COMMAND`.
    ///
    /// # Errors
    /// Returns a message under the same conditions as [`NamedLock::labelled`].
    pub fn parse(text: &str) -> Result<NamedLock, String> {
        match text.split_once('=') {
            Some((label, given)) => NamedLock::labelled(label, given),
            None => Err(format!(
                "expected LABEL={EXEC}COMMAND or LABEL={DOCKER}IMAGE"
            )),
        }
    }

    /// Returns the name under which the user can select this lock.
    pub fn from_spec(lock: &LockSpec) -> NamedLock {
        match &lock.typed {
            Some(typed) if lock.configuration.is_none() => NamedLock {
                given: typed.clone(),
                label: Some(lock.name.clone()),
            },
            _ => NamedLock::plain(&lock.name),
        }
    }

    /// Returns the name of a built-in or configured lock, or `exec:COMMAND`.
    pub fn given(&self) -> &str {
        &self.given
    }

    /// Returns `true` if it is a program, with or without a label.
    pub fn is_program(&self) -> bool {
        is_program(&self.given)
    }

    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// Returns its name in reports.
    pub fn shown(&self) -> &str {
        self.label.as_ref().unwrap_or(&self.given)
    }

    /// Returns the flag that selects it, without dashes, and the flag's value.
    pub fn flag(&self) -> (&'static str, String) {
        match &self.label {
            Some(label) => ("name", format!("{label}={}", self.given)),
            None => ("impl", self.given.clone()),
        }
    }
}

/// Returns `true` if `given` describes how to start a program rather than naming a lock.
pub fn is_program(given: &str) -> bool {
    given.starts_with(EXEC) || given.starts_with(DOCKER)
}

/// Returns the command that starts a program: `given` is `exec:COMMAND`, `docker:IMAGE`, or a command line.
pub fn program(given: &str) -> Result<WorkerCommand, String> {
    let Some(image) = given.strip_prefix(DOCKER) else {
        let command = given.strip_prefix(EXEC).unwrap_or(given);
        let argv = command_line::parse(command).map_err(|error| error.to_string())?;
        return Ok(WorkerCommand::new(argv));
    };
    check_image(image)?;
    // The program that carries the container's streams is filled in later: see `lock::worker_command`.
    Ok(WorkerCommand::in_container(image, vec![given.to_owned()]))
}

/// Refuses texts that cannot be a reference to an image.
fn check_image(image: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "./:@_-".contains(c);
    if image.starts_with(|c: char| c.is_ascii_alphanumeric()) && image.chars().all(is_plain) {
        Ok(())
    } else {
        Err(format!(
            "`{DOCKER}` needs the reference of an image, as in `{DOCKER}my-lock:1`; its program and arguments are those of the image"
        ))
    }
}

/// Refuses labels that could be mistaken for a built-in lock, a command, a path or a flag.
pub fn check_label(label: &str) -> Result<(), String> {
    let begins_well = label.starts_with(|c: char| c.is_ascii_alphanumeric());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !begins_well || !label.chars().all(is_plain) || label.len() > MAX_LABEL_LENGTH {
        return Err(format!(
            "`{label}` is not a label: expected letters, digits, `.`, `_` and `-`, the first one a letter or digit, at most {MAX_LABEL_LENGTH} of them"
        ));
    }
    match find(label) {
        Some(_) => Err(format!(
            "`{label}` is the name of a built-in lock: choose another label"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_everything_before_the_first_equals_sign() {
        let named = NamedLock::parse("mine=exec:python3 a.py --ttl=5").unwrap();
        assert_eq!(
            (named.label(), named.given(), named.shown()),
            (Some("mine"), "exec:python3 a.py --ttl=5", "mine")
        );
        assert_eq!(
            named.flag(),
            ("name", "mine=exec:python3 a.py --ttl=5".to_owned())
        );
    }

    #[test]
    fn ambiguous_label_is_refused() {
        // Front ends use the names of tests and classes.
        let longest = "x".repeat(64);
        assert!(NamedLock::labelled(&longest, "exec:a").is_ok());
        let too_long = format!("{longest}x");
        let labels = [
            "", "-x", ".x", "a b", "a/b", "exec:a", "锁", "*", "redlock", "no-lock", &too_long,
        ];
        for label in labels {
            let refused = NamedLock::labelled(label, "exec:a").unwrap_err();
            assert!(refused.contains(&format!("`{label}`")), "{refused}");
        }
        for text in ["mine", "mine=redlock", "exec:python3 a.py"] {
            let refused = NamedLock::parse(text).unwrap_err();
            assert!(refused.contains("LABEL=exec:COMMAND"), "{refused}");
        }
    }
}
