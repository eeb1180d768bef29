//! The temporary directory of a run, which never outlives it.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::error::io_error;
use super::{BackendError, ProcessIdentity, Reaper, Registration};

/// Prefix of the directories' names.
const PREFIX: &str = "picklock-";

/// Name of the file in each directory that contains its owner.
const MARKER: &str = ".picklock-owner";

/// Prefix of a directory's name while the directory has no marker, that is, before the marker is written and after it
/// is removed. The prefix is followed by the owner, so that a directory always has a known owner, even if this process
/// is killed. The final name must be shorter, because the length of socket paths is limited.
const UNMARKED: &str = "picklock-of-";

/// A temporary directory of this run. Dropping this removes it; otherwise the reaper removes it after this process has
/// ended, or the sweep of the next run does.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    /// The path while the directory has no marker.
    unmarked: PathBuf,
    owner: String,
    /// The registrations of both paths, which are dropped after the directory has been removed.
    _registrations: [Registration; 2],
}

impl Drop for RunDir {
    fn drop(&mut self) {
        for dir in [&self.path, &self.unmarked] {
            remove_if_owned_by(&self.owner, dir, &self.unmarked);
        }
    }
}

impl RunDir {
    /// Creates a directory.
    ///
    /// # Errors
    /// Returns an error if the system's temporary directory is not writable, or the reaper is gone.
    pub fn create(reaper: &Reaper) -> Result<RunDir, BackendError> {
        let inside = std::env::temp_dir();
        let doing = format!("create a directory in {}", inside.display());
        let created = tempfile::Builder::new()
            .prefix(PREFIX)
            .make_in(inside, |path| create_marked(reaper, path))
            .map_err(io_error(doing.clone()))?;
        let (dir, _) = created
            .keep()
            .map_err(|error| io_error(doing)(error.error))?;
        Ok(dir)
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates a directory that no other user can read, with its marker. Registers the directory with the reaper first, so
/// that nothing is left if this process is killed at any time.
fn create_marked(reaper: &Reaper, path: &Path) -> io::Result<RunDir> {
    let owner = reaper.owner().to_string();
    let register = |path: &Path| reaper.dir(path).map_err(io::Error::other);
    let unmarked = unmarked(path, &owner);
    if path.exists() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    // If a later step fails, dropping this value removes the directory.
    let dir = RunDir {
        path: path.to_owned(),
        _registrations: [register(&unmarked)?, register(path)?],
        unmarked,
        owner,
    };
    let mut builder = std::fs::DirBuilder::new();
    builder.mode(0o700).create(&dir.unmarked)?;
    std::fs::write(dir.unmarked.join(MARKER), &dir.owner)?;
    std::fs::rename(&dir.unmarked, path)?;
    Ok(dir)
}

/// Returns the path of a directory while it has no marker.
fn unmarked(dir: &Path, owner: &str) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    dir.with_file_name(format!("{UNMARKED}{owner}-{number}"))
}

/// Removes a directory that this owner has registered.
pub(super) fn remove_registered(dir: &Path, owner: &str) {
    remove_if_owned_by(owner, dir, &unmarked(dir, owner));
}

fn remove_if_owned_by(owner: &str, dir: &Path, unmarked: &Path) {
    if owner_of(dir).is_some_and(|found| found.to_string() == owner) {
        // If this fails, the sweep of the next run retries it.
        remove(dir, unmarked).unwrap_or_default();
    }
}

fn remove(dir: &Path, unmarked: &Path) -> io::Result<()> {
    let dir = empty(dir, unmarked)?;
    match std::fs::remove_file(dir.join(MARKER)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::remove_dir(dir)
}

/// Removes the contents of a directory except the marker, and then renames the directory to `unmarked`. If this process
/// is killed before the marker is removed, the owner of the directory is still known. Returns the new path.
fn empty<'a>(dir: &'a Path, unmarked: &'a Path) -> io::Result<&'a Path> {
    for path in contents(dir)? {
        let removed = match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => std::fs::remove_dir_all(&path),
            Ok(_) => std::fs::remove_file(&path),
            Err(error) => Err(error),
        };
        match removed {
            // Another process is removing the directory at the same time.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
    }
    Ok(match std::fs::rename(dir, unmarked) {
        Ok(()) => unmarked,
        // The directory has its final name already, or another directory of this owner has taken it.
        Err(_) => dir,
    })
}

/// Returns the contents of a directory, except the marker.
fn contents(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = entries.collect::<io::Result<_>>()?;
    paths.retain(|path| !path.ends_with(MARKER));
    Ok(paths)
}

/// Returns the owner of a directory. Returns `None` if it is not a directory of a run: it has another name, is a link,
/// belongs to another user, or neither its name nor a marker contains an owner.
pub(super) fn owner_of(dir: &Path) -> Option<ProcessIdentity> {
    if !may_be_of_a_run(dir) {
        return None;
    }
    let name = dir.file_name()?.to_str()?;
    if let Some(suffix) = name.strip_prefix(UNMARKED) {
        let (owner, _) = suffix.rsplit_once('-')?;
        return owner.parse().ok();
    }
    std::fs::read_to_string(dir.join(MARKER)).ok()?.parse().ok()
}

/// Returns `true` for a directory of this user with the prefix in its name, but not for a link to one.
fn may_be_of_a_run(dir: &Path) -> bool {
    let name = dir.file_name().and_then(|name| name.to_str());
    let named = name.is_some_and(|name| name.starts_with(PREFIX));
    let ours = |found: std::fs::Metadata| {
        found.is_dir() && found.uid() == rustix::process::geteuid().as_raw()
    };
    named && std::fs::symlink_metadata(dir).is_ok_and(ours)
}

/// Removes the directories of dead owners. Returns their paths.
pub(super) fn sweep(inside: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(inside) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|dir| {
            let owner = owner_of(dir).filter(|owner| owner.is_gone(made_at(dir)));
            owner.is_some_and(|owner| remove(dir, &unmarked(dir, &owner.to_string())).is_ok())
        })
        .collect()
}

/// Returns when the directory's marker was written, or when a directory without a marker was last changed. Returns the
/// current time if that is unknown.
fn made_at(dir: &Path) -> Duration {
    std::fs::metadata(dir.join(MARKER))
        .or_else(|_| std::fs::metadata(dir))
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

    /// Returns an owner on this machine that is dead: no PID is as high as this one.
    fn dead_owner() -> String {
        let here = ProcessIdentity::this_process().unwrap().to_string();
        format!("{}:{}", i32::MAX, here.split_once(':').unwrap().1)
    }

    fn names(inside: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(inside).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn only_registered_directories_are_removed() {
        let temp = TempDir::new().unwrap();
        let owner = ProcessIdentity::this_process().unwrap().to_string();
        let gone = [
            make(temp.path(), "picklock-marked", Some(&owner)),
            make(temp.path(), &format!("{UNMARKED}{owner}-7"), None),
            make(temp.path(), &format!("{UNMARKED}{owner}-8"), Some("")),
        ];
        let others = [
            make(temp.path(), "picklock-full", None),
            make(temp.path(), "picklock-other", Some(&dead_owner())),
            make(temp.path(), &format!("{UNMARKED}{}-7", dead_owner()), None),
        ];
        for dir in gone.iter().chain(&others) {
            remove_registered(dir, &owner);
        }
        assert!(!gone.iter().any(|dir| dir.exists()));
        assert!(others.iter().all(|dir| dir.exists()));
    }

    /// Executes the steps of the removal one by one. They are the steps of the creation in reverse order.
    #[test]
    fn owner_is_known_after_each_step() {
        let temp = TempDir::new().unwrap();
        let owner = dead_owner();
        let known = |dir: &Path| owner_of(dir).is_some_and(|found| found.to_string() == owner);
        let dir = make(temp.path(), "picklock-whole", Some(&owner));
        let unmarked = unmarked(&dir, &owner);
        assert!(known(&dir));
        assert_eq!(empty(&dir, &unmarked).unwrap(), unmarked);
        assert_eq!(names(&unmarked), [MARKER]);
        std::fs::write(unmarked.join(MARKER), "").unwrap();
        assert!(known(&unmarked), "half a marker");
        std::fs::remove_file(unmarked.join(MARKER)).unwrap();
        assert!(known(&unmarked));
        assert_eq!(sweep(temp.path()), [unmarked]);
        assert_eq!(names(temp.path()), [""; 0]);
    }

    #[test]
    fn directory_is_removed_even_if_its_unmarked_name_is_taken() {
        let temp = TempDir::new().unwrap();
        let owner = dead_owner();
        let dir = make(temp.path(), "picklock-whole", Some(&owner));
        let name = format!("{UNMARKED}{owner}-taken");
        let taken = make(temp.path(), &name, None);
        remove(&dir, &taken).unwrap();
        assert_eq!(names(temp.path()), [name]);
    }

    #[test]
    fn only_marked_directories_of_dead_owners_are_swept() {
        let temp = TempDir::new().unwrap();
        let here = ProcessIdentity::this_process().unwrap().to_string();
        let dead = dead_owner();
        let swept = make(temp.path(), "picklock-dead", Some(&dead));
        let others = [
            make(temp.path(), "picklock-living", Some(&here)),
            make(temp.path(), "picklock-unmarked", None),
            make(temp.path(), "picklock-nonsense", Some("nonsense")),
            make(temp.path(), "another-dead", Some(&dead)),
        ];
        let target = make(temp.path(), "target", Some(&dead));
        std::os::unix::fs::symlink(&target, temp.path().join("picklock-link")).unwrap();

        assert_eq!(sweep(temp.path()), std::slice::from_ref(&swept));
        assert!(!swept.exists());
        assert!(target.exists() && others.iter().all(|dir| dir.exists()));
    }
}
