//! The locks that a `picklock.toml` defines, for commands that take the name of a lock.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf, absolute};

use picklock_impls::find;
use picklock_reports::configuration::{Source, Tables};

use super::configured_lock::ConfiguredLock;
use super::{DEFAULT_FILE, read, unreadable};
use crate::exit::Failure;
use crate::named_lock::NamedLock;

/// All locks of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfiguredLocks {
    /// The path of the file as typed, or `None` if no file was read.
    pub file: Option<PathBuf>,
    by_name: BTreeMap<String, ConfiguredLock>,
}

impl ConfiguredLocks {
    /// Returns the locks that these names can mean. Reads the file only if the user names it, or if a name is neither a
    /// built-in lock nor a program.
    ///
    /// # Errors
    /// Returns an error if the named file cannot be read or is invalid.
    pub fn for_names<'a>(
        config: Option<&Path>,
        names: impl IntoIterator<Item = &'a NamedLock>,
    ) -> Result<ConfiguredLocks, Failure> {
        let mut names = names.into_iter();
        if config.is_none() && !names.any(needs_a_configuration) {
            return Ok(ConfiguredLocks::default());
        }
        let path = config.unwrap_or(Path::new(DEFAULT_FILE));
        match read(path) {
            Ok(source) => ConfiguredLocks::from_tables(&source, &Tables::read(&source)?, path),
            // The name is then unknown, which the lookup reports.
            Err(error) if config.is_none() && error.kind() == ErrorKind::NotFound => {
                Ok(ConfiguredLocks::default())
            }
            Err(error) => Err(unreadable(path, &error)),
        }
    }

    /// Returns the locks of a configuration that was read from `path`.
    ///
    /// # Errors
    /// Returns the first mistake, with its line.
    pub fn from_tables(
        source: &Source,
        tables: &Tables,
        path: &Path,
    ) -> Result<ConfiguredLocks, Failure> {
        let path_of = absolute(path).map_err(|error| unreadable(path, &error))?;
        let home = path_of.parent().unwrap_or(&path_of);
        let mut by_name = BTreeMap::new();
        for (name, table) in &tables.impls {
            let one = ConfiguredLock::from_table(source, name, table, home)?;
            by_name.insert(one.lock.name.clone(), one);
        }
        Ok(ConfiguredLocks {
            file: Some(path.to_owned()),
            by_name,
        })
    }

    /// Returns the lock with this name, and the file that defines it.
    pub fn get(&self, name: &str) -> Option<(&ConfiguredLock, &Path)> {
        Some((self.by_name.get(name)?, self.file.as_deref()?))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }
}

fn needs_a_configuration(name: &NamedLock) -> bool {
    name.label().is_none() && !name.is_program() && find(name.given()).is_none()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn impls(text: &str) -> Result<ConfiguredLocks, String> {
        impls_of(Path::new("/home/me/picklock.toml"), text)
    }

    fn impls_of(path: &Path, text: &str) -> Result<ConfiguredLocks, String> {
        let source = Source {
            file: "some/picklock.toml".to_owned(),
            text: text.to_owned(),
        };
        let tables = Tables::read(&source).map_err(|error| error.to_string())?;
        ConfiguredLocks::from_tables(&source, &tables, path)
            .map_err(|error| error.text().to_string())
    }

    #[test]
    fn a_directory_that_no_file_can_name_is_refused() {
        let path = Path::new(OsStr::from_bytes(b"/home/\xff/picklock.toml"));
        for (lines, place) in [
            ("command = \"a\"", "1:7"),
            ("command = \"a\"\ndirectory = \"bin\"", "3:13"),
        ] {
            let refused = impls_of(path, &format!("[impl.mine]\n{lines}\n")).unwrap_err();
            let at = format!("some/picklock.toml:{place}: directory: /home/\u{fffd}");
            assert!(refused.contains(&at), "{at}\n{refused}");
        }
        let elsewhere = "[impl.mine]\ncommand = \"a\"\ndirectory = \"/srv/lock\"\n";
        assert!(impls_of(path, elsewhere).is_ok());
    }

    #[test]
    fn a_table_says_where_and_how_a_program_is_started() {
        let text = "[impl.mine]\ncommand = \"./lock --ttl 'a b'\"\ndirectory = \"bin\"\n\
                    environment = { A = \"1\" }\nnodes = 5\nneeds_every_node = true\noptions = { retries = \"3\" }\n\
                    [impl.other]\ncommand = \"python3 other.py\"\n";
        let impls = impls(text).unwrap();
        assert_eq!(impls.names().collect::<Vec<_>>(), ["mine", "other"]);
        let (mine, file) = impls.get("mine").unwrap();
        assert_eq!(file, Path::new("/home/me/picklock.toml"));
        let (lock, command) = (&mine.lock, mine.lock.command.as_ref().unwrap());
        assert_eq!(lock.typed.as_deref(), Some("exec:./lock --ttl 'a b'"));
        assert_eq!(command.argv, ["./lock", "--ttl", "a b"]);
        assert_eq!(command.directory, Some(PathBuf::from("/home/me/bin")));
        assert_eq!(command.environment["A"], "1");
        assert_eq!(lock.options_by_name()["retries"], "3");
        assert_eq!((lock.nodes, lock.replicas), (5, 0));
        assert!(lock.needs_every_node);
        let other = &impls.get("other").unwrap().0.lock;
        let command = other.command.as_ref().unwrap();
        assert_eq!(command.directory, Some(PathBuf::from("/home/me")));
        assert_eq!((other.nodes, other.replicas), (1, 0));
        assert!(!other.needs_every_node);
        assert!(impls.get("third").is_none());
    }

    #[test]
    fn invalid_key_is_refused_with_its_line() {
        let mine = |lines: &str| format!("[impl.mine]\n{lines}\n");
        for (text, place, says) in [
            (
                "[impl.redlock]\ncommand = \"a\"\n".into(),
                "1:7",
                "built-in lock",
            ),
            (
                "[impl.no-lock]\ncommand = \"a\"\n".into(),
                "1:7",
                "built-in lock",
            ),
            (
                "[impl.\"a b\"]\ncommand = \"a\"\n".into(),
                "1:7",
                "not a label",
            ),
            (mine("command = \"\""), "2:11", "no program given"),
            (mine("command = \"'\""), "2:11", "inside a quote"),
            (mine("command = \"exec:a\""), "2:11", "remove `exec:`"),
            (mine("comand = \"a\""), "2:1", "did you mean `command`?"),
            (mine("command = \"a\"\nnodes = 0"), "3:9", "1 to 64"),
            (mine("command = \"a\"\nnodes = 65"), "3:9", "1 to 64"),
            (mine("command = \"a\"\nreplicas = 9"), "3:12", "0 to 8"),
            (
                mine("command = \"a\"\nenvironment = { \"A=B\" = \"1\" }"),
                "3:17",
                "without `=`",
            ),
            (
                mine("command = \"a\"\nenvironment = { PICKLOCK_X = \"1\" }"),
                "3:17",
                "itself",
            ),
            (mine("directory = \".\""), "1:1", "missing field `command`"),
        ] {
            let refused = impls(&text).unwrap_err();
            let at = format!("some/picklock.toml:{place}:");
            assert!(
                refused.contains(&at) && refused.contains(says),
                "{at}\n{refused}"
            );
        }
    }
}
