//! The languages that `picklock init` knows. A new one is a folder below `adapters/`, and a row here.
//!
//! A manifest of cargo has another name there: cargo packs no folder that has one.

use super::template::{Language, Library, Template, templates};

/// All of them, in the order of their names.
///
/// `module` speaks the protocol, and is the same for every lock. `example` is the lock that a newcomer
/// replaces. Each of `prepare` is one command, and `run` starts the adapter; both without a shell's
/// syntax, because Picklock uses none.
pub const LANGUAGES: &[Language] = &[
    Language {
        name: "bash",
        about: "bash 5.1 or later, without any other program",
        packages: &[],
        ignored: &[],
        module: templates!("bash": "picklock_adapter.sh"),
        example: templates!("bash": "my_lock.sh", "resp_client.sh"),
        prepare: &[],
        run: "bash my_lock.sh",
        libraries: &[],
    },
    Language {
        name: "csharp",
        about: "Mono 6, or .NET 8 or later with `dotnet build`, which its authors have not tried",
        packages: &["mono-mcs"],
        ignored: &["bin/", "build/", "obj/", "my-lock.exe"],
        module: templates!("csharp": "PicklockAdapter.cs", "SmallJson.cs"),
        example: templates!("csharp": "MyLock.cs", "RespClient.cs", "MyLock.csproj"),
        prepare: &["mcs -out:my-lock.exe MyLock.cs RespClient.cs PicklockAdapter.cs SmallJson.cs"],
        run: "mono my-lock.exe",
        libraries: &[],
    },
    Language {
        name: "go",
        about: "Go 1.19 or later",
        packages: &["golang-go"],
        ignored: &["my-lock"],
        module: templates!("go": "picklock_adapter.go"),
        example: templates!("go": "my_lock.go", "resp_client.go", "go.mod"),
        prepare: &["go build -o my-lock ."],
        run: "./my-lock",
        libraries: &[],
    },
    Language {
        name: "java",
        about: "JDK 17 or later",
        packages: &["default-jdk-headless"],
        ignored: &["build/"],
        module: templates!("java": "PicklockAdapter.java", "SmallJson.java"),
        example: templates!("java": "MyLock.java", "RespClient.java"),
        prepare: &[
            "javac -d build MyLock.java RespClient.java PicklockAdapter.java SmallJson.java",
        ],
        run: "java -XX:+UseSerialGC -cp build MyLock",
        libraries: &[],
    },
    Language {
        name: "node",
        about: "Node 18 or later",
        packages: &["nodejs"],
        ignored: &["node_modules/"],
        module: templates!("node": "picklock_adapter.mjs"),
        example: templates!("node": "my_lock.mjs", "resp_client.mjs"),
        prepare: &[],
        run: "node my_lock.mjs",
        libraries: &[],
    },
    Language {
        name: "python",
        about: "Python 3.9 or later",
        packages: &["python3", "python3-venv"],
        ignored: &["__pycache__/", ".venv/"],
        module: templates!("python": "picklock_adapter.py"),
        example: templates!("python": "my_lock.py", "resp_client.py"),
        prepare: &[],
        run: "python3 my_lock.py",
        libraries: PYTHON_LIBRARIES,
    },
    Language {
        name: "rust",
        about: "Rust 1.80 or later",
        packages: &[],
        ignored: &["target/"],
        module: templates!("rust": "src/picklock_adapter.rs", "src/small_json.rs"),
        example: templates!("rust": "src/main.rs", "src/resp_client.rs", "Cargo.toml" from "Cargo.toml.template"),
        prepare: &["cargo build"],
        run: "target/debug/my-lock",
        libraries: RUST_LIBRARIES,
    },
];

const VENV: &str = "python3 -m venv .venv";
const PIP: &str = ".venv/bin/pip install -r requirements.txt";

const PYTHON_LIBRARIES: &[Library] = &[
    Library {
        name: "pottery",
        files: templates!("python/pottery": "pottery_redlock.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python pottery_redlock.py",
    },
    Library {
        name: "python-redis-lock",
        files: templates!("python/python-redis-lock": "python_redis_lock.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python python_redis_lock.py",
    },
    Library {
        name: "redis-py",
        files: templates!("python": "redis_py_lock.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python redis_py_lock.py",
    },
    Library {
        name: "redlock-py",
        files: templates!("python/redlock-py": "redlock_py.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python redlock_py.py",
    },
];

const RUST_LIBRARIES: &[Library] = &[Library {
    name: "rslock",
    files: templates!("rust/rslock": "src/main.rs", "Cargo.toml" from "Cargo.toml.template", "Cargo.lock"),
    prepare: &["cargo build --locked"],
    run: "target/debug/rslock-adapter",
}];

/// The row of a language.
pub fn named(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.name == name)
}
