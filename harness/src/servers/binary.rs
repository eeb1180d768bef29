//! Finds the server program of the process backend: the user's, a named one, or the one on the PATH.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::BackendError;
use crate::named_server::NamedServer;

/// Names of the server programs, in order of preference.
const NAMES: [&str; 2] = ["redis-server", "valkey-server"];

/// The server program of the process backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    path: PathBuf,
    origin: Origin,
}

/// How a server program was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Given,
    OnPath,
    Named(NamedServer),
}

/// Environment variable for the directory of the named servers.
const SERVERS_VARIABLE: &str = "PICKLOCK_SERVERS";

/// Directory of the named servers below the user's cache directory, into which `scripts/servers` installs them.
const SERVERS: &str = "picklock/servers";

impl Binary {
    /// Finds the given program, or the first of `redis-server` and `valkey-server` on PATH.
    ///
    /// # Errors
    /// Returns an error if PATH contains neither, or the given path does not exist.
    pub fn find(given: Option<&Path>) -> Result<Binary, BackendError> {
        if let Some(path) = given {
            let path = check(path)?;
            let origin = Origin::Given;
            return Ok(Binary { path, origin });
        }
        let search = std::env::var_os("PATH").unwrap_or_default();
        NAMES
            .iter()
            .flat_map(|name| {
                // A relative directory on PATH is below the current directory, which may belong to another user.
                let directories = std::env::split_paths(&search).filter(|dir| dir.is_absolute());
                directories.map(move |dir| dir.join(name))
            })
            .find(|path| is_program(path))
            .map(|path| Binary {
                path,
                origin: Origin::OnPath,
            })
            .ok_or_else(|| BackendError::NoBinary {
                looked_for: format!("`{}`", NAMES.join("`, then `")),
            })
    }

    /// Chooses the given program. Without one, chooses the named server or, without a name, the first server on PATH.
    ///
    /// # Errors
    /// As [`Binary::find`] and [`Binary::named`].
    pub fn choose(
        given: Option<&Path>,
        named: Option<NamedServer>,
    ) -> Result<Binary, BackendError> {
        match named {
            Some(server) if given.is_none() => Binary::named(server),
            _ => Binary::find(given),
        }
    }

    /// Finds the program of a named server in the directory of the named servers.
    ///
    /// # Errors
    /// Returns an error if the program does not exist.
    pub fn named(server: NamedServer) -> Result<Binary, BackendError> {
        let directory = servers_directory(|variable| std::env::var_os(variable));
        let path = directory.unwrap_or_default().join(server.program());
        if path.is_relative() {
            return Err(BackendError::NoNamedServer { server, path });
        }
        let path = check(&path).map_err(|_| BackendError::NoNamedServer {
            server,
            path: path.clone(),
        })?;
        let origin = Origin::Named(server);
        Ok(Binary { path, origin })
    }

    /// Returns the path of the program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Describes in one line how the program was found.
    pub fn reason(&self) -> String {
        let path = self.path.display();
        match self.origin {
            Origin::Given => format!("{path}, as given"),
            Origin::OnPath => format!("{path}, found on PATH"),
            Origin::Named(server) => format!("{server}: {path}"),
        }
    }
}

/// Returns the directory of the named servers. It never depends on the current directory, which may belong to another
/// user. So relative paths in the variables are ignored.
fn servers_directory(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| {
        let path = PathBuf::from(variable(name)?);
        path.is_absolute().then_some(path)
    };
    absolute(SERVERS_VARIABLE)
        .or_else(|| Some(absolute("XDG_CACHE_HOME")?.join(SERVERS)))
        .or_else(|| Some(absolute("HOME")?.join(".cache").join(SERVERS)))
}

fn check(path: &Path) -> Result<PathBuf, BackendError> {
    let cannot = |source| BackendError::CannotRun {
        program: path.to_owned(),
        why: None,
        source,
    };
    // Make the path absolute, because servers run in other directories.
    let absolute = std::path::absolute(path).map_err(cannot)?;
    std::fs::metadata(&absolute).map_err(cannot)?;
    Ok(absolute)
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_directory_is_independent_of_the_current_directory() {
        let directory = |variables: &[(&str, &str)]| {
            servers_directory(|name| {
                let found = variables.iter().find(|(known, _)| *known == name)?;
                Some(OsString::from(found.1))
            })
        };
        let (home, cache) = (("HOME", "/h"), ("XDG_CACHE_HOME", "/c"));
        let own = |path| Some(PathBuf::from(path));
        assert_eq!(
            directory(&[home, cache, (SERVERS_VARIABLE, "/s")]),
            own("/s")
        );
        assert_eq!(directory(&[home, cache]), own("/c/picklock/servers"));
        let relative = [
            home,
            ("XDG_CACHE_HOME", "cache"),
            (SERVERS_VARIABLE, "target/servers"),
        ];
        assert_eq!(directory(&relative), own("/h/.cache/picklock/servers"));
        assert_eq!(directory(&[("HOME", "")]), None);
    }
}
