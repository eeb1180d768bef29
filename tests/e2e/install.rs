//! Tests the script that installs a release, with a server on loopback and an archive of this binary.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A release, as the workflow creates it, and a home directory to install it into.
struct Release(TempDir);

impl Release {
    /// Creates an archive for this machine, and its checksum.
    fn of_this_binary() -> Release {
        let release = Release(tempfile::tempdir().unwrap());
        let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
        // The binary of the tests is large and would take seconds to compress.
        let program = release.path("picklock");
        let binary = env!("CARGO_BIN_EXE_picklock");
        executable(&program, &format!("exec '{binary}' \"$@\""));
        let folder = release.path("latest/download");
        let packed = Command::new("scripts/archive")
            .args([Path::new(&target), &program, &folder])
            .output()
            .unwrap();
        assert!(packed.status.success(), "{}", said(&packed));
        let sums = Command::new("sh")
            .args(["-c", "sha256sum *.tar.gz >SHA256SUMS"])
            .current_dir(&folder)
            .status();
        assert!(sums.unwrap().success());
        fs::create_dir(release.path("path")).unwrap();
        release
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn sums(&self) -> PathBuf {
        self.path("latest/download/SHA256SUMS")
    }

    /// Serves the files of the release for as long as the tests run. Returns the address.
    fn served(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let root = self.0.path().to_owned();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                // A client that disconnects early reports the failure itself.
                client.and_then(|client| answer(client, &root)).ok();
            }
        });
        address
    }

    /// Runs a shell command with access to this release.
    fn shell(&self, command: &str, releases: &str) -> Output {
        let path = std::env::var("PATH").unwrap();
        Command::new("sh")
            .args(["-c", command])
            .env("HOME", self.path("home"))
            .env("PATH", format!("{}:{path}", self.path("path").display()))
            .env("PICKLOCK_RELEASES", releases)
            .env_remove("PICKLOCK_VERSION")
            .output()
            .unwrap()
    }

    fn install(&self) -> Output {
        self.shell("scripts/install", &self.served())
    }

    /// Asserts that the script fails with these words and leaves nothing behind.
    fn is_refused(&self, output: &Output, words: &[&str]) {
        let said = said(output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for word in words {
            assert!(said.contains(word), "{word}: {said}");
        }
        assert!(!self.path("home").exists(), "{said}");
    }
}

fn executable(path: &Path, line: &str) {
    fs::write(path, format!("#!/bin/sh\n{line}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn said(output: &Output) -> String {
    let parts = [&output.stdout, &output.stderr].map(|part| String::from_utf8_lossy(part));
    parts.concat()
}

/// Answers one request for a file.
fn answer(mut client: TcpStream, root: &Path) -> std::io::Result<()> {
    let mut request = String::new();
    let mut lines = BufReader::new(client.try_clone()?);
    lines.read_line(&mut request)?;
    // Reads the rest of the request, so that closing does not reset the connection.
    let mut line = String::new();
    while lines.read_line(&mut line)? > 2 {
        line.clear();
    }
    let file = request.split(' ').nth(1).unwrap_or_default();
    let (status, body) = match fs::read(root.join(file.trim_start_matches('/'))) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let length = body.len();
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    client.write_all(&body)
}

#[test]
fn release_is_installed_with_its_man_pages_and_completions() {
    let release = Release::of_this_binary();
    let output = release.install();
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("is not on your PATH"), "{said}");
    let home = release.path("home/.local");
    let program = Command::new(home.join("bin/picklock"))
        .args([
            "scenario",
            "calm",
            "--impl",
            "redlock",
            "--backend",
            "sim",
            "--quiet",
        ])
        .output()
        .unwrap();
    assert!(program.status.success(), "{}", self::said(&program));
    for file in [
        "man/man1/picklock.1",
        "man/man1/picklock-gate.1",
        "bash-completion/completions/picklock",
        "zsh/site-functions/_picklock",
        "fish/vendor_completions.d/picklock.fish",
    ] {
        let path = home.join("share").join(file);
        let length = fs::metadata(&path).map_or(0, |file| file.len());
        assert!(length > 500, "{file}: {length} bytes");
    }
    // Installs again over the existing files.
    assert!(release.install().status.success());
}

#[test]
fn archive_with_another_checksum_is_not_installed() {
    let release = Release::of_this_binary();
    let sums = fs::read_to_string(release.sums()).unwrap();
    let (right, name) = sums.split_once("  ").unwrap();
    let wrong = "0".repeat(right.len());
    fs::write(release.sums(), format!("{wrong}  {name}")).unwrap();
    release.is_refused(
        &release.install(),
        &[right, &wrong, "nothing was installed"],
    );
    fs::write(release.sums(), format!("{right}  other.tar.gz\n")).unwrap();
    release.is_refused(&release.install(), &["does not name", name.trim()]);
}

#[test]
fn release_that_cannot_be_reached_is_named() {
    let release = Release::of_this_binary();
    // The port was just released, so no process listens on it.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let wanted = format!("cannot download {address}/latest/download/SHA256SUMS");
    let output = release.shell("scripts/install", &address);
    release.is_refused(&output, &[&wanted]);
    let output = release.shell("PICKLOCK_VERSION=9.9.9 scripts/install", &release.served());
    release.is_refused(&output, &["cannot download", "/download/v9.9.9/SHA256SUMS"]);
}

#[test]
fn machine_without_a_program_is_named() {
    let release = Release::of_this_binary();
    let uname = "case $1 in -s) echo Linux ;; *) echo riscv64 ;; esac";
    executable(&release.path("path/uname"), uname);
    let words = ["Linux on riscv64", "cargo install picklock"];
    release.is_refused(&release.install(), &words);
}

/// An interrupted download leaves a script that does nothing.
#[test]
fn script_that_was_cut_off_does_nothing() {
    let release = Release::of_this_binary();
    let lines = fs::read_to_string("scripts/install").unwrap();
    let lines = lines.lines().count();
    let address = release.served();
    for kept in (5..lines).step_by(7) {
        release.shell(&format!("head -n {kept} scripts/install | sh"), &address);
        assert!(!release.path("home").exists(), "after {kept} lines");
    }
}

/// Returns the lines of a step of action.yml, as the runner passes them to bash.
fn step<'a>(action: &'a str, name: &str) -> Vec<&'a str> {
    let (_, step) = action.split_once(&format!("- name: {name}\n")).unwrap();
    let step = step.split("\n    - name:").next().unwrap();
    let (_, lines) = step.split_once("run: ").unwrap();
    let lines = lines.lines().filter(|line| *line != "|");
    lines
        .take_while(|line| !line.trim_start().starts_with('#'))
        .collect()
}

#[test]
fn action_installs_and_gates() {
    let release = Release::of_this_binary();
    let action = fs::read_to_string("action.yml").unwrap();
    let install = step(&action, "Install Picklock").join("\n");
    let here = std::env::current_dir().unwrap();
    let paths = release.path("paths");
    let prefix = release.path("home");
    let environment = format!(
        "export GITHUB_ACTION_PATH='{}' GITHUB_PATH='{}' PICKLOCK_PREFIX='{}' PICKLOCK_VERSION=latest\n",
        here.display(),
        paths.display(),
        prefix.display(),
    );
    let output = release.shell(&format!("{environment}{install}"), &release.served());
    assert!(output.status.success(), "{}", said(&output));
    let path = fs::read_to_string(paths).unwrap();
    assert_eq!(path.trim(), prefix.join("bin").to_string_lossy());

    // The runner starts the next step in the project folder, with the new directory on its PATH.
    let gate = step(&action, "Gate").join("\n");
    let (folder, out) = (release.path("project"), release.path("results"));
    fs::create_dir(&folder).unwrap();
    let gate = format!(
        "cd '{}' && export PATH={}:$PATH OUT='{}' ARGUMENTS='--config gate.toml'\n{gate}",
        folder.display(),
        path.trim(),
        out.display(),
    );
    let cells = "[[cells]]\nbackends = ['sim']\nlocks = ['set-nx-px']\nscenarios = ['calm']\n";
    let too_strict = "[[limit]]\nmetric = 'acquire.p99'\nmax = '1us'\n";
    let run = out.join("set-nx-px/calm/sim/run.json");
    for (more, passes) in [("", true), (too_strict, false)] {
        fs::write(folder.join("gate.toml"), format!("{cells}{more}")).unwrap();
        let output = release.shell(&gate, "");
        assert_eq!(output.status.success(), passes, "{}", said(&output));
        assert!(out.join("report.html").exists());
        assert_eq!(run.exists(), !passes, "the run of what failed is kept");
    }
}
