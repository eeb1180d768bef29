//! A copy of the workspace that is built next to the original.
//!
//! The copy has a separate target directory, because its binary must not replace the one that other tests run.
//! Compiling the external crates there would take minutes, so it reuses the original's: artifacts as hard links, and
//! the files that cargo rewrites as copies.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Root of the workspace.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Entries of the root that are not sources.
const NOT_COPIED: [&str; 2] = ["target", ".git"];

/// The copy. Removed when the test is over.
pub struct Workspace {
    root: tempfile::TempDir,
}

impl Workspace {
    /// Copies the sources. The directory is below `target/`, because hard links need the same file system.
    pub fn copy() -> io::Result<Workspace> {
        let root = tempfile::Builder::new()
            .prefix("contributing-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        for source in fs::read_dir(ROOT)? {
            let name = source?.file_name();
            if !NOT_COPIED.iter().any(|other| name == *other) {
                copy(&Path::new(ROOT).join(&name), &root.path().join(&name))?;
            }
        }
        // Cargo enables the features that tests need in external crates only when it builds a test. Without a test it
        // could not reuse the original's artifacts.
        fs::write(root.path().join("tests/none.rs"), "//! Nothing.\n")?;
        Ok(Workspace { root })
    }

    /// Returns the path of a file in the copy.
    pub fn path(&self, file: &str) -> PathBuf {
        self.root.path().join(file)
    }

    /// Returns a cargo command for the whole copy, so that all commands use the same external crates.
    pub fn cargo(&self, command: &str) -> Command {
        self.in_the_copy(Command::new(env!("CARGO")), command)
    }

    /// Returns a cargo command that compiles with low priority, because tests with servers run in parallel and measure
    /// times.
    pub fn cargo_when_idle(&self, command: &str) -> Command {
        let mut idle = Command::new("chrt");
        idle.args(["--idle", "0", env!("CARGO")]);
        self.in_the_copy(idle, command)
    }

    fn in_the_copy(&self, mut cargo: Command, command: &str) -> Command {
        cargo
            .args([command, "--offline", "--quiet", "--workspace"])
            .current_dir(self.root.path())
            .env("CARGO_TARGET_DIR", self.path("target"))
            .env("CARGO_INCREMENTAL", "0");
        // The example runs only a few simulations; optimising them takes longer than running them.
        for name in ["harness", "redis-model", "verdicts", "impls", "lab"] {
            let plain = format!("profile.dev.package.picklock-{name}.opt-level=0");
            cargo.arg("--config").arg(plain);
        }
        cargo
    }

    /// Builds the binary and everything that imports the crates, such as the lab, and returns the binary's path.
    pub fn build(&self) -> io::Result<PathBuf> {
        let target = self.path("target");
        // .../target/debug/deps/contributing-...
        let test = std::env::current_exe()?;
        let profile = test.ancestors().nth(2).expect("a profile's directory");
        share(profile, &target.join("debug"))?;
        let mut cargo = self.cargo_when_idle("build");
        cargo.args(["--lib", "--bins", "--test", "none"]);
        succeeds(&mut cargo)?;
        Ok(target.join("debug/picklock"))
    }

    /// Checks the rules of the architecture in the copy.
    pub fn check_architecture(&self) -> io::Result<()> {
        // The first test is needed as in `build`.
        let tests = ["--test", "none", "--test", "architecture"];
        succeeds(self.cargo_when_idle("test").args(tests))
    }
}

/// Runs a command that must succeed.
fn succeeds(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{said}");
    Ok(())
}

/// Copies a file, or a folder with its contents.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    // The copy must keep its modification time, which cargo compares.
    let copied = Command::new("cp").arg("-Rp").arg(from).arg(to).status()?;
    assert!(copied.success(), "{} was not copied", from.display());
    Ok(())
}

/// Shares the external crates of one target directory with another.
fn share(from: &Path, to: &Path) -> io::Result<()> {
    for folder in ["deps", "build", ".fingerprint"] {
        fs::create_dir_all(to.join(folder))?;
        for entry in fs::read_dir(from.join(folder))? {
            let entry = entry?;
            // A compiler that was killed leaves temporary folders in `deps`.
            let is_left = folder == "deps" && entry.file_type()?.is_dir();
            if is_left || !is_external(&entry.file_name()) {
                continue;
            }
            let name = to.join(folder).join(entry.file_name());
            match folder {
                "deps" => fs::hard_link(entry.path(), name)?,
                _ => copy(&entry.path(), &name)?,
            }
        }
    }
    Ok(())
}

fn is_external(name: &OsStr) -> bool {
    !name.to_string_lossy().contains("picklock")
}
