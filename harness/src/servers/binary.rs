use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::BackendError;
use crate::named_server::NamedServer;

/// Names of the server programs, in the order of preference.
const NAMES: [&str; 2] = ["redis-server", "valkey-server"];

/// The server program of the process backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    path: PathBuf,
    found: Found,
}

/// What led to a server program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Given,
    OnPath,
    Named(NamedServer),
}

/// The variable that names the directory of the servers that can be chosen by name.
const SERVERS_VARIABLE: &str = "PICKLOCK_SERVERS";

/// That directory, if the variable names none: where `scripts/servers` puts them.
const SERVERS: &str = "target/servers";

impl Binary {
    /// The given program, or the first of `redis-server` and `valkey-server` on PATH.
    ///
    /// # Errors
    /// Neither is there, or the given path is not a program.
    pub fn find(given: Option<&Path>) -> Result<Binary, BackendError> {
        if let Some(path) = given {
            let path = check(path)?;
            let found = Found::Given;
            return Ok(Binary { path, found });
        }
        let search = std::env::var_os("PATH").unwrap_or_default();
        NAMES
            .iter()
            .flat_map(|name| std::env::split_paths(&search).map(move |dir| dir.join(name)))
            .find(|path| is_program(path))
            .map(|path| Binary {
                path,
                found: Found::OnPath,
            })
            .ok_or_else(|| BackendError::NoBinary {
                looked_for: format!("`{}`", NAMES.join("`, then `")),
            })
    }

    /// The given program, else the server that was chosen by name, else the first on PATH.
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

    /// The program of a server that was chosen by name, in the directory of these servers.
    ///
    /// # Errors
    /// It is not there.
    pub fn named(server: NamedServer) -> Result<Binary, BackendError> {
        let given = std::env::var_os(SERVERS_VARIABLE).filter(|value| !value.is_empty());
        let directory = given.map_or_else(|| PathBuf::from(SERVERS), PathBuf::from);
        let path = directory.join(server.program());
        let path = check(&path).map_err(|_| BackendError::NoNamedServer {
            server,
            path: path.clone(),
        })?;
        let found = Found::Named(server);
        Ok(Binary { path, found })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why this one, in one line.
    pub fn reason(&self) -> String {
        let path = self.path.display();
        match self.found {
            Found::Given => format!("{path}, as given"),
            Found::OnPath => format!("{path}, found on PATH"),
            Found::Named(server) => format!("{server}: {path}"),
        }
    }
}

fn check(path: &Path) -> Result<PathBuf, BackendError> {
    let cannot = |source| BackendError::CannotRun {
        program: path.to_owned(),
        why: None,
        source,
    };
    // Servers run in directories of their own: a relative path would mean something else there.
    let absolute = std::path::absolute(path).map_err(cannot)?;
    std::fs::metadata(&absolute).map_err(cannot)?;
    Ok(absolute)
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
