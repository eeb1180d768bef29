//! Writes and deletes below a directory that the user named. No symbolic link below that directory is followed: it may
//! lead out of the directory, to files that are not Picklock's. The directory itself may be a link.
//!
//! The directory is opened once, and every step on the way is opened relative to the one before (`openat` with
//! `O_NOFOLLOW`), so that a link that appears in the meantime is refused as well, even if it replaces the directory
//! itself.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

/// Maximum depth of a directory that is removed.
const MAX_DEPTH: usize = 8;

/// Flags for opening a directory.
const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// A directory that the user named, or the default one of a command.
#[derive(Debug, Clone)]
pub struct OutputDirectory {
    root: PathBuf,
    /// Mode of new directories below it.
    mode: Mode,
    /// Whether the directory itself may be a symbolic link.
    may_be_link: bool,
    /// The directory, which is opened at its first use. Clones share it.
    opened: Arc<OnceLock<OwnedFd>>,
}

/// A directory below an [`OutputDirectory`] for another process of Picklock. The path is valid until this value is
/// dropped, and leads to the same directory even if a link takes its place.
#[derive(Debug)]
pub struct HandedDirectory(OwnedFd);

impl HandedDirectory {
    /// Returns the path that another process of this user can open.
    pub fn path(&self) -> PathBuf {
        let descriptor = self.0.as_raw_fd();
        PathBuf::from(format!("/proc/{}/fd/{descriptor}", std::process::id()))
    }

    /// Replaces this path in a message of the other process with the path that the user typed.
    pub fn named(&self, message: &str, path: &Path) -> String {
        message.replace(&*self.path().to_string_lossy(), &path.to_string_lossy())
    }
}

impl OutputDirectory {
    /// Creates a directory whose new parts no other user of the machine can read.
    pub fn private(root: &Path) -> Self {
        OutputDirectory {
            root: root.to_owned(),
            mode: Mode::RWXU,
            may_be_link: true,
            opened: Arc::default(),
        }
    }

    /// Marks the directory as a default one, which must not be a symbolic link either.
    pub fn by_default(self) -> Self {
        OutputDirectory {
            may_be_link: false,
            ..self
        }
    }

    /// Creates a directory for files of the user, with the usual rights.
    pub fn shared(root: &Path) -> Self {
        OutputDirectory {
            root: root.to_owned(),
            mode: Mode::RWXU | Mode::RWXG | Mode::RWXO,
            may_be_link: true,
            opened: Arc::default(),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Creates the directory itself, with its parents, unless it exists.
    pub fn make(&self) -> io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(self.mode.bits())
            .create(&self.root)?;
        self.opened().map(drop)
    }

    /// Locks the directory against other processes of Picklock, until the last clone of this is dropped.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened, or if another process has locked it.
    pub fn lock(&self) -> io::Result<()> {
        match fs::flock(self.opened()?, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(io::Error::other("another picklock is writing to it")),
            // Some file systems do not support locks.
            _ => Ok(()),
        }
    }

    /// Creates a directory like [`OutputDirectory::create`] for another process.
    pub fn hand_over(&self, inside: &Path) -> io::Result<HandedDirectory> {
        self.folder(inside, true).map(HandedDirectory)
    }

    /// Creates a directory below this one, with its parents, unless it exists.
    pub fn create(&self, inside: &Path) -> io::Result<()> {
        self.folder(inside, true).map(drop)
    }

    /// Checks that no symbolic link lies on the way to a path, which need not exist.
    pub fn check(&self, inside: &Path) -> io::Result<()> {
        match self.folder(inside.parent().unwrap_or(Path::new("")), false) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Opens a regular file for reading.
    pub fn open(&self, inside: &Path) -> io::Result<File> {
        let (folder, name) = self.place(inside, false)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = fs::openat(&folder, name, flags, Mode::empty());
        let file = File::from(file.map_err(|errno| refused(errno, name))?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        Ok(file)
    }

    /// Reads a regular file that is not longer than `max` bytes.
    pub fn read(&self, inside: &Path, max: u64) -> io::Result<String> {
        let mut text = String::new();
        if self.open(inside)?.take(max + 1).read_to_string(&mut text)? as u64 > max {
            return Err(io::Error::other(format!("it is longer than {max} bytes")));
        }
        Ok(text)
    }

    /// Writes a file completely or not at all: it gets its name last.
    pub fn write(
        &self,
        inside: &Path,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> io::Result<()> {
        let (folder, name) = self.place(inside, true)?;
        let mut unfinished = OsStr::new(".").to_owned();
        unfinished.push(name);
        unfinished.push(".unfinished");
        fs::unlinkat(&folder, &unfinished, AtFlags::empty()).ok();
        let attempt = || -> io::Result<()> {
            let mut file = BufWriter::new(new_file(&folder, &unfinished)?);
            write(&mut file)?;
            file.flush()?;
            file.get_ref().sync_all()?;
            drop(file);
            Ok(fs::renameat(&folder, &unfinished, &folder, name)?)
        };
        attempt().inspect_err(|_| {
            fs::unlinkat(&folder, &unfinished, AtFlags::empty()).ok();
        })
    }

    /// Writes a file that does not exist yet.
    pub fn write_new(&self, inside: &Path, text: &str) -> io::Result<()> {
        let (folder, name) = self.place(inside, true)?;
        new_file(&folder, name)?.write_all(text.as_bytes())
    }

    /// Renames a file or a directory.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from_folder, from_name) = self.place(from, false)?;
        let (to_folder, to_name) = self.place(to, true)?;
        Ok(fs::renameat(&from_folder, from_name, &to_folder, to_name)?)
    }

    /// Removes a file, or a symbolic link itself.
    pub fn remove_file(&self, inside: &Path) -> io::Result<()> {
        let (folder, name) = self.place(inside, false)?;
        Ok(fs::unlinkat(&folder, name, AtFlags::empty())?)
    }

    /// Removes a directory if it is empty.
    pub fn remove_empty(&self, inside: &Path) -> io::Result<()> {
        let (folder, name) = self.place(inside, false)?;
        Ok(fs::unlinkat(&folder, name, AtFlags::REMOVEDIR)?)
    }

    /// Removes the directory itself if it is empty and not named by the user.
    pub fn remove_empty_default(&self) {
        if !self.may_be_link {
            std::fs::remove_dir(&self.root).ok();
        }
    }

    /// Removes a directory with all files whose names `is_ours` accepts. If it contains another file, nothing is
    /// removed.
    pub fn remove(&self, inside: &Path, is_ours: fn(&str) -> bool) -> io::Result<()> {
        let folder = self.folder(inside, false)?;
        each_file(&folder, MAX_DEPTH, &mut |_, name, _| {
            let name = name.to_string_lossy();
            if is_ours(&name) {
                return Ok(());
            }
            let problem = format!("it contains `{name}`, which Picklock did not write");
            Err(io::Error::other(problem))
        })?;
        each_file(&folder, MAX_DEPTH, &mut |folder, name, kind| {
            Ok(fs::unlinkat(folder, name, kind)?)
        })?;
        drop(folder);
        self.remove_empty(inside)
    }

    /// Opens the directory that contains a path, and returns it with the last part of the path.
    fn place<'a>(&self, inside: &'a Path, create: bool) -> io::Result<(OwnedFd, &'a OsStr)> {
        let name = inside.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = inside.parent().unwrap_or(Path::new(""));
        Ok((self.folder(parent, create)?, name))
    }

    /// Returns the directory itself.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened, or if its path no longer leads to the directory that was opened.
    fn opened(&self) -> io::Result<&OwnedFd> {
        let Some(opened) = self.opened.get() else {
            let flags = if self.may_be_link {
                DIRECTORY
            } else {
                DIRECTORY | OFlags::NOFOLLOW
            };
            let opened = fs::open(&self.root, flags, Mode::empty())
                .map_err(|errno| refused(errno, self.root.as_os_str()))?;
            return Ok(self.opened.get_or_init(|| opened));
        };
        let (first, now) = (fs::fstat(opened)?, fs::stat(&self.root)?);
        if (first.st_dev, first.st_ino) == (now.st_dev, now.st_ino) {
            return Ok(opened);
        }
        Err(io::Error::other(format!(
            "another directory has taken the place of {} in the meantime",
            self.root.display()
        )))
    }

    fn folder(&self, inside: &Path, create: bool) -> io::Result<OwnedFd> {
        let mut folder = self.opened()?.try_clone()?;
        for part in inside.components() {
            let Component::Normal(name) = part else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            if create {
                match fs::mkdirat(&folder, name, self.mode) {
                    Err(errno) if errno != Errno::EXIST => return Err(errno.into()),
                    _ => {}
                }
            }
            let next = fs::openat(&folder, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty());
            folder = next.map_err(|errno| refused(errno, name))?;
        }
        Ok(folder)
    }
}

fn new_file(folder: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o666);
    Ok(File::from(fs::openat(folder, name, flags, mode)?))
}

/// Calls `see` for each entry of a directory, the contents of a directory first. Symbolic links count as files.
fn each_file(
    folder: &OwnedFd,
    depth: usize,
    see: &mut dyn FnMut(&OwnedFd, &OsStr, AtFlags) -> io::Result<()>,
) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    if depth == 0 {
        return Err(io::Error::other(
            "it contains too many levels of directories",
        ));
    }
    let entries = fs::Dir::read_from(folder)?.collect::<Result<Vec<_>, _>>()?;
    for entry in entries {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let found = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
            see(folder, name, AtFlags::empty())?;
            continue;
        }
        let inner = fs::openat(folder, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
        each_file(&inner, depth - 1, see)?;
        see(folder, name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

/// Describes why a part of a path cannot be opened.
fn refused(errno: Errno, name: &OsStr) -> io::Error {
    match errno {
        Errno::LOOP | Errno::NOTDIR | Errno::MLINK => io::Error::other(format!(
            "`{}` is a symbolic link or no directory, and Picklock does not follow links there",
            name.to_string_lossy()
        )),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn link_below_the_directory_is_not_followed() {
        let temporary = tempfile::tempdir().unwrap();
        let elsewhere = temporary.path().join("elsewhere");
        let root = temporary.path().join("out");
        std::fs::create_dir_all(elsewhere.join("in")).unwrap();
        std::fs::write(elsewhere.join("in/run.json"), "theirs").unwrap();
        std::fs::create_dir(&root).unwrap();
        symlink("../elsewhere", root.join("a")).unwrap();
        symlink("../elsewhere/in/run.json", root.join("file")).unwrap();
        let output = OutputDirectory::private(&root);
        let all = |_: &str| true;
        let refusals = [
            output.create(Path::new("a/new")),
            output.check(Path::new("a/in/run.json")),
            output.write(Path::new("a/x"), |_| Ok(())),
            output.write_new(Path::new("a/x"), ""),
            output.write_new(Path::new("file"), ""),
            output.remove(Path::new("a/in"), all),
            output.remove(Path::new("a"), all),
            output.remove_file(Path::new("a/in/run.json")),
            output.remove_empty(Path::new("a/in")),
            output.rename(Path::new("a/in"), Path::new("b")),
            output.read(Path::new("file"), 10).map(drop),
            output.create(Path::new("../elsewhere/new")),
        ];
        for (index, refusal) in refusals.into_iter().enumerate() {
            assert!(refusal.is_err(), "{index}");
        }
        let text = || std::fs::read_to_string(elsewhere.join("in/run.json")).unwrap();
        assert_eq!(text(), "theirs");
        // A link in place of the file is replaced, and its target is unchanged.
        output
            .write(Path::new("file"), |file| file.write_all(b"ours"))
            .unwrap();
        assert_eq!(
            (text(), output.read(Path::new("file"), 4).unwrap()),
            ("theirs".into(), "ours".into())
        );
        assert!(output.read(Path::new("file"), 3).is_err());
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 1);
    }

    #[test]
    fn directory_replaced_after_its_first_use_is_not_written() {
        let temporary = tempfile::tempdir().unwrap();
        let [root, moved, theirs] =
            ["out", "moved", "theirs"].map(|name| temporary.path().join(name));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir_all(theirs.join("a")).unwrap();
        let output = OutputDirectory::private(&root);
        let handed = output.hand_over(Path::new("a/run")).unwrap();
        std::fs::rename(root.join("a"), root.join("b")).unwrap();
        symlink(theirs.join("a"), root.join("a")).unwrap();
        // Another process that received the directory continues with the directory itself.
        std::fs::write(handed.path().join("run.json"), "").unwrap();
        assert!(root.join("b/run/run.json").exists());
        assert!(output.create(Path::new("a/new")).is_err());
        std::fs::rename(&root, &moved).unwrap();
        symlink(&theirs, &root).unwrap();
        let refusal = output.write(Path::new("x"), |_| Ok(())).unwrap_err();
        assert!(refusal.to_string().contains("in the meantime"), "{refusal}");
        assert!(output.remove(Path::new("a"), |_| true).is_err());
        let left = |path: &Path| std::fs::read_dir(path).unwrap().count();
        assert_eq!((left(&theirs), left(&theirs.join("a"))), (1, 0));
    }

    #[test]
    fn default_directory_is_not_a_link() {
        let temporary = tempfile::tempdir().unwrap();
        let [link, theirs] = ["link", "theirs"].map(|name| temporary.path().join(name));
        std::fs::create_dir(&theirs).unwrap();
        symlink(&theirs, &link).unwrap();
        let output = OutputDirectory::private(&link).by_default();
        assert!(output.make().is_err());
        assert!(output.write(Path::new("x"), |_| Ok(())).is_err());
        assert_eq!(std::fs::read_dir(&theirs).unwrap().count(), 0);
        OutputDirectory::private(&link).make().unwrap();
        let new = OutputDirectory::private(&temporary.path().join("new/a")).by_default();
        new.make().unwrap();
        new.write(Path::new("x"), |_| Ok(())).unwrap();
    }

    #[test]
    fn only_files_of_picklock_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let output = OutputDirectory::private(root.path());
        let path = |name: &str| Path::new("a/b").join(name);
        for name in ["run.json", "keep"] {
            output.write(&path(name), |_| Ok(())).unwrap();
        }
        let remove = || output.remove(Path::new("a/b"), |name| name == "run.json");
        let refusal = remove().unwrap_err().to_string();
        assert!(refusal.contains("`keep`"), "{refusal}");
        assert!(root.path().join("a/b/run.json").exists());
        output.remove_file(&path("keep")).unwrap();
        remove().unwrap();
        assert!(!root.path().join("a/b").exists());
    }
}
