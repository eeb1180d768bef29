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

/// Default directory of the named servers, into which `scripts/servers` installs them.
const SERVERS: &str = "target/servers";

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
            .flat_map(|name| std::env::split_paths(&search).map(move |dir| dir.join(name)))
            .find(|path| is_program(path))
            .map(|path| Binary {
                path,
                origin: Origin::OnPath,
            })
            .ok_or_else(|| BackendError::NoBinary {
                looked_for: format!("`{}`", NAMES.join("`, then `")),
            })
    }

    /// Chooses the given program, else the named server, else the first one on PATH.
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
        let given = std::env::var_os(SERVERS_VARIABLE).filter(|value| !value.is_empty());
        let directory = given.map_or_else(|| PathBuf::from(SERVERS), PathBuf::from);
        let path = directory.join(server.program());
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

fn check(path: &Path) -> Result<PathBuf, BackendError> {
    let cannot = |source| BackendError::CannotRun {
        program: path.to_owned(),
        why: None,
        source,
    };
    // Servers run in separate directories, in which a relative path would mean something else.
    let absolute = std::path::absolute(path).map_err(cannot)?;
    std::fs::metadata(&absolute).map_err(cannot)?;
    Ok(absolute)
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
