//! Files of unknown origin: opened only if they are regular files, and read only up to a limit.

use std::fs::{self, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use rustix::fs::OFlags;

/// Maximum length of a scenario, repro or configuration, in bytes.
pub const MAX_TEXT_LENGTH: u64 = 1 << 20;

/// Maximum length of a run or matrix document, or of a command log, in bytes.
pub const MAX_DOCUMENT_LENGTH: u64 = 256 << 20;

/// Maximum length of a history, in bytes.
pub const MAX_HISTORY_LENGTH: u64 = 1 << 30;

/// Whether the last component of a path may be a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Symbolic links are followed, because the user named the path.
    Followed,
    /// Symbolic links are refused: a link would lead out of a foreign directory.
    Refused,
}

/// Opens a regular file that is not longer than `max` bytes. Opening never blocks: a FIFO without a writer is refused
/// like any other.
///
/// # Errors
/// Returns an error with a message if the file cannot be opened, is of another kind, or is too long.
pub fn open(path: &Path, max: u64, links: Links) -> io::Result<impl Read + use<>> {
    let mut flags = OFlags::NONBLOCK;
    if links == Links::Refused {
        refuse(fs::symlink_metadata(path)?.file_type())?;
        // The file may have been replaced by a link in the meantime.
        flags |= OFlags::NOFOLLOW;
    } else {
        // Checked before opening, because opening a device can have side effects.
        refuse(fs::metadata(path)?.file_type())?;
    }
    let flags = flags.bits().cast_signed();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    let found = file.metadata()?;
    refuse(found.file_type())?;
    if found.len() > max {
        return Err(io::Error::other(format!(
            "too large ({} bytes, limit {max})",
            found.len()
        )));
    }
    Ok(Bounded { file, left: max })
}

/// Reads a whole text file; see [`open`].
///
/// # Errors
/// Returns an error like [`open`], and if the file is not UTF-8.
pub fn read(path: &Path, max: u64, links: Links) -> io::Result<String> {
    let mut text = String::new();
    open(path, max, links)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Reads a whole text file like [`read`], or decompresses `NAME.gz` next to it if the file does not exist. The limit
/// also applies to the decompressed text.
///
/// # Errors
/// Returns an error like [`read`], and if the file is not gzip.
pub fn read_plain_or_gzip(path: &Path, max: u64, links: Links) -> io::Result<String> {
    match read(path, max, links) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        read => return read,
    }
    let mut text = String::new();
    let packed = open(&gzip_path(path), max, links)?;
    let file = GzDecoder::new(packed);
    Bounded { file, left: max }.read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the path of a compressed file: `commands.jsonl.gz`.
pub fn gzip_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".gz");
    path.with_file_name(name)
}

fn refuse(kind: FileType) -> io::Result<()> {
    let what = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_dir() => "a directory",
        kind if kind.is_fifo() => "a FIFO",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(io::Error::other(format!(
        "it is {what}; expected a regular file"
    )))
}

/// A reader with a limit, for a file that may grow while it is read or be longer than its metadata claims.
struct Bounded<R> {
    file: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        let left = self.left.checked_sub(count as u64);
        self.left = left.ok_or_else(|| io::Error::other("too large: longer than the limit"))?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn refusal(path: &Path, links: Links) -> String {
        read(path, 10, links).unwrap_err().to_string()
    }

    #[test]
    fn only_regular_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("file"), "0123456789").unwrap();
        std::os::unix::fs::symlink(path("file"), path("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path("to-device")).unwrap();
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path("fifo"),
            rustix::fs::FileType::Fifo,
            mode,
            0,
        )
        .unwrap();
        for links in [Links::Refused, Links::Followed] {
            assert_eq!(read(&path("file"), 10, links).unwrap(), "0123456789");
            for (other, word) in [("fifo", "a FIFO"), ("", "a directory")] {
                let refusal = refusal(&path(other), links);
                assert!(refusal.contains(word), "{refusal}");
            }
            assert!(refusal(Path::new("/dev/zero"), links).contains("a device"));
        }
        assert!(refusal(&path("link"), Links::Refused).contains("a symbolic link"));
        assert!(refusal(&path("to-device"), Links::Followed).contains("a device"));
        assert!(read(&path("link"), 10, Links::Followed).is_ok());
    }

    #[test]
    fn compressed_file_is_read_up_to_the_bound() {
        use std::io::Write;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("commands.jsonl");
        let file = File::create(dir.path().join("commands.jsonl.gz")).unwrap();
        let mut file = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        file.write_all(&[b'a'; 1_000]).unwrap();
        file.finish().unwrap();
        let unpacked = read_plain_or_gzip(&path, 1_000, Links::Refused).unwrap();
        assert_eq!(unpacked.len(), 1_000);
        let refusal = read_plain_or_gzip(&path, 999, Links::Refused).unwrap_err();
        assert!(refusal.to_string().contains("too large"), "{refusal}");
        fs::write(&path, "plain").unwrap();
        let plain = read_plain_or_gzip(&path, 999, Links::Refused).unwrap();
        assert_eq!(plain, "plain");
    }

    #[test]
    fn oversized_file_is_refused_before_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse");
        File::create(&path).unwrap().set_len(30 << 30).unwrap();
        let refusal = read(&path, MAX_HISTORY_LENGTH, Links::Refused).unwrap_err();
        assert!(refusal.to_string().contains("32212254720 bytes"));
        // The length of such a file is unknown in advance.
        let path = Path::new("/proc/self/status");
        assert!(read(path, MAX_TEXT_LENGTH, Links::Refused).is_ok());
        let refusal = read(path, 10, Links::Refused).unwrap_err();
        assert!(refusal.to_string().contains("too large"), "{refusal}");
    }
}
