//! `picklock init --test`: a first test of a lock in an existing project.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use picklock_reports::inert;
use picklock_reports::inert::Inert;

use super::new_files::{next_lines, refuse_to_overwrite};
use crate::exit::Failure;
use crate::output_directory::OutputDirectory;
use crate::print;
use crate::untrusted_file::{self, Links, MAX_TEXT_LENGTH};

/// A test framework.
#[derive(Debug)]
pub struct Framework {
    /// The value of `--test`.
    pub name: &'static str,
    /// The language, and the files by which a project is recognised.
    pub about: &'static str,
    /// Names of files, at least one of which every project has. A `*` at the beginning stands for any text.
    project_files: &'static [&'static str],
    /// Folders for tests. The test goes into the first of these that exists, or else into the project's own folder.
    folders: &'static [&'static str],
    /// The files, with their texts; the last file is the test.
    files: &'static [(&'static str, &'static str)],
    /// How the files differ from the texts above.
    change: Change,
    /// The next steps for the user. `{test}` is the path of the test, and `{version}` is the version of Picklock.
    next: &'static [&'static str],
    /// The page with the settings.
    page: &'static str,
}

/// How the files of a framework differ from the example.
#[derive(Debug, Clone, Copy)]
enum Change {
    Unchanged,
    /// The first text is replaced by the second one.
    Replaced(&'static str, &'static str),
    /// The package of the example is replaced by the external test package of the project's folder, in which its names
    /// cannot clash with those of the project.
    GoPackage,
}

impl Change {
    fn apply(self, text: &str, directory: &Path) -> String {
        match self {
            Change::Unchanged => text.to_owned(),
            Change::Replaced(old, new) => text.replace(old, new),
            Change::GoPackage => text.replace("package example\n", &go_package(directory)),
        }
    }
}

/// Embeds a file of an example in `integrations/`.
macro_rules! example {
    ($language:literal, $file:literal) => {
        include_str!(concat!(
            "../../integrations/",
            $language,
            "/example/",
            $file
        ))
    };
}

const TEST_FOLDERS: &[&str] = &["tests", "test"];
const NODE_FILES: &[(&str, &str)] = &[
    ("my_lock.mjs", example!("node", "my_lock.mjs")),
    ("my_lock.test.mjs", example!("node", "my_lock.test.mjs")),
];

/// Every framework.
pub const FRAMEWORKS: &[Framework] = &[
    Framework {
        name: "pytest",
        about: "Python: pyproject.toml, setup.py, setup.cfg or requirements.txt",
        project_files: &[
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "requirements.txt",
        ],
        folders: TEST_FOLDERS,
        files: &[("test_my_lock.py", example!("python", "test_my_lock.py"))],
        change: Change::Unchanged,
        next: &["pip install picklock redis pytest", "pytest {test}"],
        page: "python",
    },
    Framework {
        name: "junit",
        about: "Java: pom.xml, build.gradle or build.gradle.kts",
        project_files: &["pom.xml", "build.gradle", "build.gradle.kts"],
        folders: &[],
        files: &[(
            "src/test/java/example/MyLockTest.java",
            example!("java", "src/test/java/example/MyLockTest.java"),
        )],
        change: Change::Unchanged,
        next: &[
            "add io.github.picklock:picklock-junit:{version}, org.junit.jupiter:junit-jupiter and redis.clients:jedis, for tests",
            "with Maven, add maven-surefire-plugin 3.5.2: Surefire 2 runs no test of JUnit 5, and the build passes",
            "mvn test -Dtest=MyLockTest, or gradle test --tests example.MyLockTest",
        ],
        page: "java",
    },
    Framework {
        name: "gotest",
        about: "Go: go.mod",
        project_files: &["go.mod"],
        folders: &[],
        files: &[("my_lock_test.go", example!("go", "my_lock_test.go"))],
        change: Change::GoPackage,
        next: &[
            "go get github.com/OWNER/picklock/integrations/go github.com/redis/go-redis/v9",
            "go test -run TestMyLock .",
        ],
        page: "go",
    },
    Framework {
        name: "vitest",
        about: "JavaScript or TypeScript: package.json",
        project_files: &["package.json"],
        folders: TEST_FOLDERS,
        files: NODE_FILES,
        change: Change::Replaced("\"node:test\"", "\"vitest\""),
        next: &[
            "npm install --save-dev picklock ioredis vitest",
            "npx vitest run {test}",
        ],
        page: "node",
    },
    Framework {
        name: "node",
        about: "JavaScript with node:test: package.json",
        project_files: &["package.json"],
        folders: TEST_FOLDERS,
        files: NODE_FILES,
        change: Change::Unchanged,
        next: &[
            "npm install --save-dev picklock ioredis",
            "node --test {test}",
        ],
        page: "node",
    },
    Framework {
        name: "xunit",
        about: "C#: *.csproj",
        project_files: &["*.csproj"],
        folders: &[],
        files: &[("MyLockTests.cs", example!("csharp", "MyLockTests.cs"))],
        change: Change::Unchanged,
        next: &[
            "dotnet add package Picklock",
            "dotnet add package StackExchange.Redis",
            "if the project sets TestingPlatformDotnetTestSupport, add \
             <TestingPlatformCaptureOutput>false</TestingPlatformCaptureOutput>, so that `dotnet test` prints the failures",
            "dotnet test",
        ],
        page: "csharp",
    },
];

/// Writes the first test, and prints the next steps.
///
/// # Errors
/// Returns an error if the folder has no project of this kind, or if a file exists already or cannot be written.
pub fn write(name: &str, directory: &Path) -> Result<(), Failure> {
    let mut frameworks = FRAMEWORKS.iter();
    let framework = frameworks.find(|framework| framework.name == name);
    let framework = framework
        .ok_or_else(|| Failure::Usage(inert!("--test {}: no such test framework", name)))?;
    require_project(framework, directory)?;
    let mut folders = framework.folders.iter().map(Path::new);
    let folder = folders.find(|folder| directory.join(folder).is_dir());
    let folder = folder.unwrap_or(Path::new(""));
    let files = framework.files.iter().map(|(path, text)| {
        let text = framework.change.apply(text, directory);
        (folder.join(path), text)
    });
    let files: Vec<(PathBuf, String)> = files.collect();
    let places: Vec<PathBuf> = files.iter().map(|(path, _)| directory.join(path)).collect();
    let help = format!(
        "rename that file; `picklock docs {}` shows a test",
        framework.page
    );
    refuse_to_overwrite(directory, &places, &help)?;
    let output = OutputDirectory::shared(directory);
    for (path, text) in &files {
        let written = output.write_new(path, text);
        written.map_err(Failure::at("write", &directory.join(path)))?;
    }
    let test = files.last().map_or(Path::new(""), |(path, _)| path);
    let steps = framework.next.iter().map(|step| {
        let step = step.replace("{test}", &test.to_string_lossy());
        step.replace("{version}", env!("CARGO_PKG_VERSION"))
    });
    let steps: Vec<String> = steps.collect();
    let places: Vec<&Path> = places.iter().map(PathBuf::as_path).collect();
    print::out(&Inert::lines(&next_lines(directory, &places, &steps)));
    print::out(&inert!(
        "\nthen put your own lock in place of the example (picklock docs {})\n",
        framework.page
    ));
    Ok(())
}

fn require_project(framework: &Framework, directory: &Path) -> Result<(), Failure> {
    let is_project_file = |name: &OsString| {
        let name = name.to_string_lossy();
        let mut patterns = framework.project_files.iter();
        patterns.any(|pattern| match pattern.strip_prefix('*') {
            Some(ending) => name.ends_with(ending),
            None => name == *pattern,
        })
    };
    if names(directory)?.iter().any(is_project_file) {
        return Ok(());
    }
    Err(Failure::Usage(inert!(
        "{} has no {}\n  = help: run `picklock init --test {}` in the folder of your project, or name that folder",
        directory.display(),
        framework.project_files.join(", "),
        framework.name
    )))
}

fn names(directory: &Path) -> Result<Vec<OsString>, Failure> {
    let entries = fs::read_dir(directory).map_err(|error| {
        Failure::Usage(inert!("cannot read {}: {}", directory.display(), error))
    })?;
    Ok(entries.flatten().map(|entry| entry.file_name()).collect())
}

/// Returns the package clause of the Go files in a folder, or that of the example if there are none.
fn go_package(directory: &Path) -> String {
    let names = names(directory).unwrap_or_default();
    let files = names
        .iter()
        .filter(|name| name.to_string_lossy().ends_with(".go"));
    let mut packages = files.filter_map(|name| {
        let file = directory.join(name);
        let text = untrusted_file::read(&file, MAX_TEXT_LENGTH, Links::Followed).ok()?;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("package "))?;
        Some(
            line.split_whitespace()
                .next()?
                .trim_end_matches("_test")
                .to_owned(),
        )
    });
    format!(
        "package {}_test\n",
        packages.next().unwrap_or_else(|| "example".to_owned())
    )
}
