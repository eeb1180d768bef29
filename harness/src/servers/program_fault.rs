//! Determines from a program's file why it cannot be started. The kernel only reports `No such file or directory` for a
//! missing loader, and `Exec format error` for everything else.

use std::io::Read;
use std::path::{Path, PathBuf};

/// Defect of a program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramFault {
    /// The file is neither an ELF file nor a script.
    #[error("not a program")]
    NoProgram,
    /// The program is for another CPU architecture.
    #[error("built for {0}, but this machine is {here}", here = std::env::consts::ARCH)]
    OtherArchitecture(&'static str),
    /// The program's loader does not exist on this machine, because it belongs to another libc or another release of
    /// it.
    #[error("its libc is missing: it requires the loader {}", .0.display())]
    NoLoader(PathBuf),
    /// The interpreter in the first line of the script does not exist on this machine.
    #[error("its interpreter {} is missing", .0.display())]
    NoInterpreter(PathBuf),
}

/// Number of bytes to read. The loader's path is near the beginning of every usual program.
const READ: u64 = 64 * 1024;

impl ProgramFault {
    /// Examines a program. Returns `None` if its file has no defect, or cannot be read.
    pub fn find(program: &Path) -> Option<ProgramFault> {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(program).ok()?;
        file.take(READ).read_to_end(&mut bytes).ok()?;
        if let Some(line) = bytes.strip_prefix(b"#!") {
            let line = line.split(|byte| *byte == b'\n').next()?;
            let words = String::from_utf8_lossy(line);
            let interpreter = PathBuf::from(words.split_whitespace().next()?);
            return (!interpreter.exists()).then_some(ProgramFault::NoInterpreter(interpreter));
        }
        let Some(elf) = Elf::read(&bytes) else {
            return Some(ProgramFault::NoProgram);
        };
        if elf.architecture != std::env::consts::ARCH {
            return Some(ProgramFault::OtherArchitecture(elf.architecture));
        }
        let missing = elf.loader.filter(|loader| !loader.exists());
        missing.map(ProgramFault::NoLoader)
    }
}

/// Data from the header of a program.
struct Elf {
    /// CPU architecture, spelled as in `std::env::consts::ARCH`.
    architecture: &'static str,
    /// The loader, or `None` for a static or 32-bit program.
    loader: Option<PathBuf>,
}

/// `PT_INTERP`: type of the segment that contains the loader's path.
const INTERPRETER: u32 = 3;

impl Elf {
    /// Reads the header as described in `man 5 elf`. The loader is only read from 64-bit files.
    fn read(bytes: &[u8]) -> Option<Elf> {
        if !bytes.starts_with(b"\x7fELF") {
            return None;
        }
        let is_64 = *bytes.get(4)? == 2;
        let is_little = *bytes.get(5)? == 1;
        let number = |at: usize, len: usize| -> Option<u64> {
            let field = bytes.get(at..at.checked_add(len)?)?;
            let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
            Some(if is_little {
                field.iter().rev().fold(0, add)
            } else {
                field.iter().fold(0, add)
            })
        };
        let architecture = match (number(18, 2)?, is_64) {
            (0x3e, true) => "x86_64",
            (0x03, _) => "x86",
            (0xb7, _) => "aarch64",
            (0x28, _) => "arm",
            (0xf3, true) => "riscv64",
            (0x15, true) => "powerpc64",
            (0x16, _) => "s390x",
            _ => "another architecture",
        };
        let loader = || {
            let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
            let rows = (0..count).filter_map(|row| {
                let at = usize::try_from(table.checked_add(row.checked_mul(size)?)?).ok()?;
                let is_loader = number(at, 4)? == u64::from(INTERPRETER);
                is_loader.then_some(at)
            });
            let at = rows.into_iter().next()?;
            let start = usize::try_from(number(at + 8, 8)?).ok()?;
            let len = usize::try_from(number(at + 32, 8)?).ok()?;
            let path = bytes.get(start..start.checked_add(len)?)?;
            let path = path.strip_suffix(b"\0").unwrap_or(path);
            Some(PathBuf::from(String::from_utf8_lossy(path).into_owned()))
        };
        Some(Elf {
            architecture,
            loader: if is_64 { loader() } else { None },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a file with these bytes, and returns its fault.
    fn fault(name: &str, bytes: &[u8]) -> Option<ProgramFault> {
        let id = std::process::id();
        let path = std::env::temp_dir().join(format!("picklock-program-fault-{id}-{name}"));
        std::fs::write(&path, bytes).unwrap();
        let fault = ProgramFault::find(&path);
        std::fs::remove_file(&path).unwrap();
        fault
    }

    #[test]
    fn own_program_has_no_fault() {
        assert_eq!(ProgramFault::find(&std::env::current_exe().unwrap()), None);
    }

    #[test]
    fn other_architecture_is_found() {
        let mut bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        bytes.truncate(8192);
        bytes[18..20].copy_from_slice(&[0x16, 0]);
        let found = fault("machine", &bytes);
        assert_eq!(found, Some(ProgramFault::OtherArchitecture("s390x")));
    }

    #[test]
    fn missing_loader_is_found() {
        let mut bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        bytes.truncate(8192);
        let known = Elf::read(&bytes).unwrap().loader.unwrap();
        let known = known.to_str().unwrap().as_bytes();
        let at = memchr::memmem::find(&bytes, known).unwrap();
        bytes[at + 1] = b'X';
        let Some(ProgramFault::NoLoader(loader)) = fault("loader", &bytes) else {
            panic!("the missing loader was not found");
        };
        assert!(loader.to_string_lossy().starts_with("/X"), "{loader:?}");
    }

    #[test]
    fn file_that_is_not_a_program_is_found() {
        assert_eq!(fault("text", b"hello\n"), Some(ProgramFault::NoProgram));
        assert_eq!(fault("empty", b""), Some(ProgramFault::NoProgram));
        let script = fault("script", b"#!/nowhere/sh -e\nexit 0\n");
        let nowhere = ProgramFault::NoInterpreter("/nowhere/sh".into());
        assert_eq!(script, Some(nowhere));
        assert_eq!(fault("cut", b"\x7fELF"), Some(ProgramFault::NoProgram));
    }
}
