//! The examples of other kinds of locks, by language: files of `adapters/` that take the place of the first example.

use super::kind::Kind;
use super::template::{KindExample, Template, templates};

const fn example(kind: Kind, files: &'static [Template]) -> KindExample {
    KindExample { kind, files }
}

/// The module for bash has no requests of a leader.
pub const BASH: &[KindExample] = &[
    example(
        Kind::Semaphore,
        templates!("bash": "my_semaphore.sh", "resp_client.sh"),
    ),
    example(
        Kind::Rwlock,
        templates!("bash": "my_rwlock.sh", "resp_client.sh"),
    ),
    example(
        Kind::Cron,
        templates!("bash": "my_cron.sh", "resp_client.sh"),
    ),
];

pub const CSHARP: &[KindExample] = &[
    example(
        Kind::Semaphore,
        templates!("csharp": "MySemaphore.cs", "RespClient.cs", "MyLock.csproj"),
    ),
    example(
        Kind::Rwlock,
        templates!("csharp": "MyRwlock.cs", "RespClient.cs", "MyLock.csproj"),
    ),
    example(
        Kind::Leader,
        templates!("csharp": "MyLeader.cs", "RespClient.cs", "MyLock.csproj"),
    ),
    example(
        Kind::Cron,
        templates!("csharp": "MyCron.cs", "RespClient.cs", "MyLock.csproj"),
    ),
];

pub const GO: &[KindExample] = &[
    example(
        Kind::Semaphore,
        templates!("go": "my_semaphore.go" from "semaphore/my_semaphore.go", "resp_client.go", "go.mod"),
    ),
    example(
        Kind::Rwlock,
        templates!("go": "my_rwlock.go" from "rwlock/my_rwlock.go", "resp_client.go", "go.mod"),
    ),
    example(
        Kind::Leader,
        templates!("go": "my_leader.go" from "leader/my_leader.go", "resp_client.go", "go.mod"),
    ),
    example(
        Kind::Cron,
        templates!("go": "my_cron.go" from "cron/my_cron.go", "resp_client.go", "go.mod"),
    ),
];

pub const JAVA: &[KindExample] = &[
    example(
        Kind::Semaphore,
        templates!("java": "MySemaphore.java", "RespClient.java"),
    ),
    example(
        Kind::Rwlock,
        templates!("java": "MyRwlock.java", "RespClient.java"),
    ),
    example(
        Kind::Leader,
        templates!("java": "MyLeader.java", "RespClient.java"),
    ),
    example(
        Kind::Cron,
        templates!("java": "MyCron.java", "RespClient.java"),
    ),
];

pub const NODE: &[KindExample] = &[
    example(
        Kind::Semaphore,
        templates!("node": "my_semaphore.mjs", "resp_client.mjs"),
    ),
    example(
        Kind::Rwlock,
        templates!("node": "my_rwlock.mjs", "resp_client.mjs"),
    ),
    example(
        Kind::Leader,
        templates!("node": "my_leader.mjs", "resp_client.mjs"),
    ),
    example(
        Kind::Cron,
        templates!("node": "my_cron.mjs", "resp_client.mjs"),
    ),
];

pub const PYTHON: &[KindExample] = &[
    example(
        Kind::Semaphore,
        templates!("python": "my_semaphore.py", "resp_client.py"),
    ),
    example(
        Kind::Rwlock,
        templates!("python": "my_rwlock.py", "resp_client.py"),
    ),
    example(
        Kind::Leader,
        templates!("python": "my_leader.py", "resp_client.py"),
    ),
    example(
        Kind::Cron,
        templates!("python": "my_cron.py", "resp_client.py"),
    ),
];

pub const RUST: &[KindExample] = &[
    example(
        Kind::Semaphore,
        templates!("rust": "src/main.rs" from "src/my_semaphore.rs", "src/resp_client.rs", "Cargo.toml" from "Cargo.toml.template"),
    ),
    example(
        Kind::Rwlock,
        templates!("rust": "src/main.rs" from "src/my_rwlock.rs", "src/resp_client.rs", "Cargo.toml" from "Cargo.toml.template"),
    ),
    example(
        Kind::Leader,
        templates!("rust": "src/main.rs" from "src/my_leader.rs", "src/resp_client.rs", "Cargo.toml" from "Cargo.toml.template"),
    ),
    example(
        Kind::Cron,
        templates!("rust": "src/main.rs" from "src/my_cron.rs", "src/resp_client.rs", "Cargo.toml" from "Cargo.toml.template"),
    ),
];
