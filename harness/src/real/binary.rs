use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::WorldError;

/// Names of the server programs, in the order of preference.
const NAMES: [&str; 2] = ["redis-server", "valkey-server"];

/// The server program of the process world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    path: PathBuf,
    given: bool,
}

impl Binary {
    /// The given program, or the first of `redis-server` and `valkey-server` on PATH.
    ///
    /// # Errors
    /// Neither is there, or the given path is not a program.
    pub fn find(given: Option<&Path>) -> Result<Binary, WorldError> {
        if let Some(path) = given {
            let path = check(path)?;
            return Ok(Binary { path, given: true });
        }
        let search = std::env::var_os("PATH").unwrap_or_default();
        NAMES
            .iter()
            .flat_map(|name| std::env::split_paths(&search).map(move |dir| dir.join(name)))
            .find(|path| is_program(path))
            .map(|path| Binary { path, given: false })
            .ok_or_else(|| WorldError::NoBinary {
                looked_for: format!("`{}`", NAMES.join("`, then `")),
            })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why this one, in one line.
    pub fn reason(&self) -> String {
        let how = if self.given {
            "as given"
        } else {
            "found on PATH"
        };
        format!("{}, {how}", self.path.display())
    }
}

fn check(path: &Path) -> Result<PathBuf, WorldError> {
    let cannot = |source| WorldError::CannotRun {
        program: path.to_owned(),
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
