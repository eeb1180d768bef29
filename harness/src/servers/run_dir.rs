use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::error::io_error;
use super::{BackendError, ProcessIdentity, Reaper, Registration};

/// How the names of these directories begin.
const PREFIX: &str = "picklock-";

/// The file in each of them that names its owner.
const MARKER: &str = ".picklock-owner";

/// How the name of a directory begins while it has no marker yet, or no longer: the owner follows. So there
/// is no moment at which a kill leaves a directory that nobody knows. A name for good must be shorter: the
/// paths of sockets have to be.
const UNMARKED: &str = "picklock-of-";

/// A temporary directory of this run. It is removed when this is dropped, or by the reaper after
/// this process has ended, or by the sweep of the next run.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    /// Its name while it has no marker.
    unmarked: PathBuf,
    owner: String,
    /// Dropped after the directory has been removed: the reaper need not look for it, by either name.
    _registrations: [Registration; 2],
}

impl Drop for RunDir {
    fn drop(&mut self) {
        for dir in [&self.path, &self.unmarked] {
            remove_if_of(&self.owner, dir, &self.unmarked);
        }
    }
}

impl RunDir {
    /// Makes a new one.
    ///
    /// # Errors
    /// The system's temporary directory cannot be written, or the reaper is gone.
    pub fn create(reaper: &Reaper) -> Result<RunDir, BackendError> {
        let inside = std::env::temp_dir();
        let doing = format!("make a directory in {}", inside.display());
        let made = tempfile::Builder::new()
            .prefix(PREFIX)
            .make_in(inside, |path| made(reaper, path))
            .map_err(io_error(doing.clone()))?;
        let (dir, _) = made.keep().map_err(|error| io_error(doing)(error.error))?;
        Ok(dir)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Makes a directory that no other user can read, with its marker. The reaper knows of it before there is
/// one, so that no kill comes between.
fn made(reaper: &Reaper, path: &Path) -> io::Result<RunDir> {
    let owner = reaper.owner().to_string();
    let register = |path: &Path| reaper.dir(path).map_err(io::Error::other);
    let unmarked = unmarked(path, &owner);
    if path.exists() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    // Where the rest fails, this takes away what there is.
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

/// What a directory is called while it has no marker.
fn unmarked(dir: &Path, owner: &str) -> PathBuf {
    static GIVEN: AtomicU64 = AtomicU64::new(0);
    let number = GIVEN.fetch_add(1, Ordering::Relaxed);
    dir.with_file_name(format!("{UNMARKED}{owner}-{number}"))
}

/// Removes a directory that was registered by this owner.
pub(super) fn remove_registered(dir: &Path, owner: &str) {
    remove_if_of(owner, dir, &unmarked(dir, owner));
}

fn remove_if_of(owner: &str, dir: &Path, unmarked: &Path) {
    if owner_of(dir).is_some_and(|found| found.to_string() == owner) {
        // What cannot be removed now the sweep of the next run removes.
        remove(dir, unmarked).unwrap_or_default();
    }
}

fn remove(dir: &Path, unmarked: &Path) -> io::Result<()> {
    let dir = emptied(dir, unmarked)?;
    match std::fs::remove_file(dir.join(MARKER)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::remove_dir(dir)
}

/// Removes what is in a directory, but for the marker, and calls the directory `unmarked` before that goes: a kill
/// in between leaves a directory that is still known for what it is. Returns what it is called then.
fn emptied<'a>(dir: &'a Path, unmarked: &'a Path) -> io::Result<&'a Path> {
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
    Ok(match std::fs::rename(dir, unmarked) {
        Ok(()) => unmarked,
        // It has such a name, or another one of this owner has this one.
        Err(_) => dir,
    })
}

/// What is in a directory, but for the marker.
fn contents(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = entries.collect::<io::Result<_>>()?;
    paths.retain(|path| !path.ends_with(MARKER));
    Ok(paths)
}

/// The owner of a directory. `None` if it is not a directory of a run: it has another name, is a
/// link, belongs to another user, or neither its name nor a marker tells.
pub(super) fn owner_of(dir: &Path) -> Option<ProcessIdentity> {
    if !may_be_of_a_run(dir) {
        return None;
    }
    let name = dir.file_name()?.to_str()?;
    if let Some(told) = name.strip_prefix(UNMARKED) {
        let (owner, _) = told.rsplit_once('-')?;
        return owner.parse().ok();
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
        .filter(|dir| {
            let owner = owner_of(dir).filter(|owner| owner.is_gone(made_at(dir)));
            owner.is_some_and(|owner| remove(dir, &unmarked(dir, &owner.to_string())).is_ok())
        })
        .collect()
}

/// When the directory's marker was written, or the last thing was done to a directory without one; now, if
/// that is not known.
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

    /// An owner like this process, but dead: no process id is as high as this one.
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
    fn what_was_registered_is_removed_and_nothing_else() {
        let temp = TempDir::new().unwrap();
        let owner = ProcessIdentity::this_process().unwrap().to_string();
        let gone = [
            make(temp.path(), "picklock-marked", Some(&owner)),
            make(temp.path(), &format!("{UNMARKED}{owner}-7"), None),
            make(temp.path(), &format!("{UNMARKED}{owner}-8"), Some("")),
        ];
        let kept = [
            make(temp.path(), "picklock-full", None),
            make(temp.path(), "picklock-other", Some(&dead_owner())),
            make(temp.path(), &format!("{UNMARKED}{}-7", dead_owner()), None),
        ];
        for dir in gone.iter().chain(&kept) {
            remove_registered(dir, &owner);
        }
        assert!(!gone.iter().any(|dir| dir.exists()));
        assert!(kept.iter().all(|dir| dir.exists()));
    }

    /// Takes the steps of the removal one by one, and of the making in the other order.
    #[test]
    fn at_each_step_the_owner_is_known() {
        let temp = TempDir::new().unwrap();
        let owner = dead_owner();
        let known = |dir: &Path| owner_of(dir).is_some_and(|found| found.to_string() == owner);
        let dir = make(temp.path(), "picklock-whole", Some(&owner));
        let unmarked = unmarked(&dir, &owner);
        assert!(known(&dir));
        assert_eq!(emptied(&dir, &unmarked).unwrap(), unmarked);
        assert_eq!(names(&unmarked), [MARKER]);
        std::fs::write(unmarked.join(MARKER), "").unwrap();
        assert!(known(&unmarked), "half a marker");
        std::fs::remove_file(unmarked.join(MARKER)).unwrap();
        assert!(known(&unmarked));
        assert_eq!(sweep(temp.path()), [unmarked]);
        assert_eq!(names(temp.path()), [""; 0]);
    }

    #[test]
    fn a_name_that_is_taken_does_not_keep_a_directory() {
        let temp = TempDir::new().unwrap();
        let owner = dead_owner();
        let dir = make(temp.path(), "picklock-whole", Some(&owner));
        let name = format!("{UNMARKED}{owner}-taken");
        let taken = make(temp.path(), &name, None);
        remove(&dir, &taken).unwrap();
        assert_eq!(names(temp.path()), [name]);
    }

    #[test]
    fn only_marked_directories_of_the_dead_are_swept() {
        let temp = TempDir::new().unwrap();
        let here = ProcessIdentity::this_process().unwrap().to_string();
        let dead = dead_owner();
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
