use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    path: PathBuf,
    /// Dropped after the directory has been removed: the reaper need not look for it.
    _registration: Registration,
}

impl Drop for RunDir {
    fn drop(&mut self) {
        // What cannot be removed now the sweep of the next run removes.
        remove(&self.path).ok();
    }
}

impl RunDir {
    /// Makes a new one.
    ///
    /// # Errors
    /// The system's temporary directory cannot be written, or the reaper is gone.
    pub fn create(reaper: &Reaper) -> Result<RunDir, WorldError> {
        let inside = std::env::temp_dir();
        let doing = format!("make a directory in {}", inside.display());
        let made = tempfile::Builder::new()
            .prefix(PREFIX)
            .make_in(inside, |path| registered(reaper, path))
            .map_err(io_error(doing.clone()))?;
        let (registration, path) = made.keep().map_err(|error| io_error(doing)(error.error))?;
        let dir = RunDir {
            path,
            _registration: registration,
        };
        let marker = dir.path.join(MARKER);
        let doing = format!("write {}", marker.display());
        std::fs::write(marker, reaper.owner().to_string()).map_err(io_error(doing))?;
        Ok(dir)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Makes a directory that no other user can read. The reaper knows of it before there is one, so that
/// no kill comes between.
fn registered(reaper: &Reaper, path: &Path) -> io::Result<Registration> {
    let registration = reaper.dir(path).map_err(io::Error::other)?;
    std::fs::DirBuilder::new().mode(0o700).create(path)?;
    Ok(registration)
}

/// Removes a directory that was registered by this owner. One that the owner has not marked yet is
/// removed if it is empty.
pub(super) fn remove_registered(dir: &Path, owner: &str) {
    let removed = match owner_of(dir) {
        Some(found) if found.to_string() == owner => remove(dir),
        Some(_) => return,
        None if !may_be_of_a_run(dir) => return,
        None if dir.join(MARKER).exists() => {
            // The marker was not written whole.
            let is_empty = std::fs::metadata(dir.join(MARKER)).is_ok_and(|found| found.len() == 0);
            if !is_empty {
                return;
            }
            std::fs::remove_file(dir.join(MARKER)).and_then(|()| std::fs::remove_dir(dir))
        }
        None => std::fs::remove_dir(dir),
    };
    // The next run's sweep removes what is left, if it is marked.
    removed.unwrap_or_default();
}

/// Removes a marked directory. The marker goes last: who is killed meanwhile leaves a directory that is
/// still known for what it is.
fn remove(dir: &Path) -> io::Result<()> {
    for path in contents(dir)? {
        let removed = match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => std::fs::remove_dir_all(&path),
            Ok(_) => std::fs::remove_file(&path),
            Err(error) => Err(error),
        };
        match removed {
            // Somebody else removes it, too.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
    }
    std::fs::remove_dir(dir)
}

/// What is in a directory, the marker at the end.
fn contents(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = entries.collect::<io::Result<_>>()?;
    paths.sort_by_key(|path| path.ends_with(MARKER));
    Ok(paths)
}

/// The owner of a directory. `None` if it is not a directory of a run: it has another name, is a
/// link, belongs to another user, or has no marker.
pub(super) fn owner_of(dir: &Path) -> Option<ProcessIdentity> {
    if !may_be_of_a_run(dir) {
        return None;
    }
    std::fs::read_to_string(dir.join(MARKER)).ok()?.parse().ok()
}

/// True for a directory of this user with such a name, and not for a link to one.
fn may_be_of_a_run(dir: &Path) -> bool {
    let name = dir.file_name().and_then(|name| name.to_str());
    let named = name.is_some_and(|name| name.starts_with(PREFIX));
    let ours = |found: std::fs::Metadata| {
        found.is_dir() && found.uid() == rustix::process::geteuid().as_raw()
    };
    named && std::fs::symlink_metadata(dir).is_ok_and(ours)
}

/// Removes the directories of dead owners, and returns which.
pub(super) fn sweep(inside: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(inside) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|dir| owner_of(dir).is_some_and(|owner| owner.is_gone(made_at(dir))))
        .filter(|dir| remove(dir).is_ok())
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
    use tempfile::TempDir;

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
    fn what_was_registered_is_removed_even_if_it_was_not_marked_yet() {
        let temp = TempDir::new().unwrap();
        let owner = ProcessIdentity::this_process().unwrap().to_string();
        let other = format!("{}:{}", i32::MAX, owner.split_once(':').unwrap().1);
        let empty = temp.path().join("picklock-empty");
        std::fs::create_dir(&empty).unwrap();
        let half = temp.path().join("picklock-half");
        std::fs::create_dir(&half).unwrap();
        std::fs::write(half.join(MARKER), "").unwrap();
        let gone = [
            make(temp.path(), "picklock-marked", Some(&owner)),
            empty,
            half,
        ];
        let kept = [
            make(temp.path(), "picklock-full", None),
            make(temp.path(), "picklock-other", Some(&other)),
        ];
        for dir in gone.iter().chain(&kept) {
            remove_registered(dir, &owner);
        }
        assert!(!gone.iter().any(|dir| dir.exists()));
        assert!(kept.iter().all(|dir| dir.exists()));
    }

    #[test]
    fn the_marker_goes_last() {
        let temp = TempDir::new().unwrap();
        let dir = make(temp.path(), "picklock-whole", Some("somebody"));
        for name in ["a.log", "z.log"] {
            std::fs::write(dir.join(name), "").unwrap();
        }
        let order = contents(&dir).unwrap();
        assert_eq!(order.len(), 4, "{order:?}");
        assert_eq!(order.last(), Some(&dir.join(MARKER)), "{order:?}");
        remove(&dir).unwrap();
        assert!(!dir.exists());
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
