use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::error::io_error;
use super::{ProcessIdentity, Reaper, Registration, WorldError};

/// How the names of these directories begin.
const PREFIX: &str = "picklock-";

/// The file in each of them that names its owner.
const MARKER: &str = ".picklock-owner";

/// A temporary directory of this run. It is removed when this is dropped, or by the reaper after
/// this process has ended, or by the sweep of the next run.
#[derive(Debug)]
pub struct RunDir {
    // Dropped in this order: removed first, then forgotten by the reaper.
    dir: TempDir,
    _registration: Registration,
}

impl RunDir {
    /// Makes a new one.
    ///
    /// # Errors
    /// The system's temporary directory cannot be written, or the reaper is gone.
    pub fn create(reaper: &Reaper) -> Result<RunDir, WorldError> {
        let inside = std::env::temp_dir();
        let doing = format!("make a directory in {}", inside.display());
        let dir = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(inside)
            .map_err(io_error(doing))?;
        let marker = dir.path().join(MARKER);
        let doing = format!("write {}", marker.display());
        std::fs::write(marker, reaper.owner().to_string()).map_err(io_error(doing))?;
        let registration = reaper.dir(dir.path())?;
        Ok(RunDir {
            dir,
            _registration: registration,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// The owner of a directory. `None` if it is not a directory of a run: it has another name, is a
/// link, belongs to another user, or has no marker.
pub(super) fn owner_of(dir: &Path) -> Option<ProcessIdentity> {
    let name = dir.file_name()?.to_str()?;
    let found = std::fs::symlink_metadata(dir).ok()?;
    let ours = name.starts_with(PREFIX)
        && found.is_dir()
        && found.uid() == rustix::process::geteuid().as_raw();
    if !ours {
        return None;
    }
    std::fs::read_to_string(dir.join(MARKER)).ok()?.parse().ok()
}

/// Removes the directories of dead owners, and returns which.
pub(super) fn sweep(inside: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(inside) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|dir| owner_of(dir).is_some_and(|owner| owner.is_gone(made_at(dir))))
        .filter(|dir| std::fs::remove_dir_all(dir).is_ok())
        .collect()
}

/// When the directory's marker was written; now, if that is not known.
fn made_at(dir: &Path) -> Duration {
    std::fs::metadata(dir.join(MARKER))
        .and_then(|found| found.modified())
        .ok()
        .and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok())
        .unwrap_or_else(crate::clock::wall_clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(inside: &Path, name: &str, marker: Option<&str>) -> PathBuf {
        let dir = inside.join(name);
        std::fs::create_dir_all(dir.join("node-0")).unwrap();
        if let Some(text) = marker {
            std::fs::write(dir.join(MARKER), text).unwrap();
        }
        dir
    }

    #[test]
    fn only_marked_directories_of_the_dead_are_swept() {
        let temp = TempDir::new().unwrap();
        let here = ProcessIdentity::this_process().unwrap().to_string();
        let rest = here.split_once(':').unwrap().1;
        // No process id is as high as this one; the rest is true.
        let dead = format!("{}:{rest}", i32::MAX);
        let swept = make(temp.path(), "picklock-dead", Some(&dead));
        let kept = [
            make(temp.path(), "picklock-living", Some(&here)),
            make(temp.path(), "picklock-unmarked", None),
            make(temp.path(), "picklock-nonsense", Some("somebody")),
            make(temp.path(), "another-dead", Some(&dead)),
        ];
        let target = make(temp.path(), "target", Some(&dead));
        std::os::unix::fs::symlink(&target, temp.path().join("picklock-link")).unwrap();

        assert_eq!(sweep(temp.path()), std::slice::from_ref(&swept));
        assert!(!swept.exists());
        assert!(target.exists() && kept.iter().all(|dir| dir.exists()));
    }
}
