//! The languages that `picklock init` supports. To add one, add a folder below `adapters/` and a row here.
//!
//! Cargo manifests have a different name there, because cargo does not package a folder that contains a Cargo.toml.

use picklock_scenarios::nearest;

use super::examples;
use super::libraries::{
    CSHARP_LIBRARIES, GO_LIBRARIES, JAVA_LIBRARIES, NODE_LIBRARIES, PHP_LIBRARIES,
    PYTHON_LIBRARIES, RUST_LIBRARIES,
};
use super::template::{Language, Template, Variant, When, templates};

/// All languages, sorted by name.
///
/// `module` implements the protocol and is the same for every lock. `example` is the lock that the user replaces. Each
/// entry of `prepare` is one command, and `run` starts the adapter. Quotes are the only shell syntax in both, because
/// Picklock uses no shell.
pub const LANGUAGES: &[Language] = &[
    Language {
        name: "bash",
        aliases: &["sh", "shell"],
        about: "bash 5.1 or later, without any other program",
        packages: &[],
        ignored: &[],
        module: templates!("bash": "picklock_adapter.sh"),
        example: templates!("bash": "my_lock.sh", "resp_client.sh"),
        kinds: examples::BASH,
        prepare: &[],
        run: "bash my_lock.sh",
        renewal: "print {\"event\":\"lost\",\"token\":\"TOKEN\"} on a line of standard output before the lease ends unrenewed",
        variants: &[],
        module_file: None,
        install: &[],
        library_packages: &[],
        libraries: &[],
    },
    Language {
        name: "csharp",
        aliases: &["c#", "cs", "dotnet", ".net"],
        about: "Mono 6, or .NET 8 or later if only that is installed; its libraries need .NET",
        packages: &["mono-mcs"],
        ignored: &["bin/", "build/", "obj/", "my-lock.exe"],
        module: templates!("csharp": "PicklockAdapter.cs", "LockContract.cs", "SmallJson.cs"),
        example: templates!("csharp": "MyLock.cs", "RespClient.cs", "MyLock.csproj"),
        kinds: examples::CSHARP,
        prepare: &[
            "mcs -out:my-lock.exe MyLock.cs RespClient.cs PicklockAdapter.cs LockContract.cs SmallJson.cs",
        ],
        run: "mono my-lock.exe",
        renewal: "call PicklockAdapter.Extended(token, ttl, askedAt) after each renewal, and PicklockAdapter.Lost(token) before the lease ends unrenewed",
        variants: CSHARP_VARIANTS,
        module_file: None,
        install: &[],
        library_packages: &[],
        libraries: CSHARP_LIBRARIES,
    },
    Language {
        name: "go",
        aliases: &["golang"],
        about: "Go 1.19 or later",
        packages: &["golang-go"],
        ignored: &["my-lock"],
        module: templates!("go": "picklock_adapter.go", "lock_contract.go"),
        example: templates!("go": "my_lock.go", "resp_client.go", "go.mod"),
        kinds: examples::GO,
        prepare: &["go build -o my-lock ."],
        run: "./my-lock",
        renewal: "call Extended(token, ttl, askedAt) after each renewal, and Lost(token) before the lease ends unrenewed",
        variants: &[],
        module_file: Some("go.mod"),
        install: &["if [ -f {root}/go.mod ]; then (cd {root} && go mod download); fi"],
        library_packages: &[],
        libraries: GO_LIBRARIES,
    },
    Language {
        name: "java",
        aliases: &["jvm"],
        about: "JDK 17 or later",
        packages: &["default-jdk-headless"],
        ignored: &["build/", "lib/", "target/"],
        module: templates!("java": "PicklockAdapter.java", "LockContract.java", "SmallJson.java"),
        example: templates!("java": "MyLock.java", "RespClient.java"),
        kinds: examples::JAVA,
        prepare: &[
            "javac -d build MyLock.java RespClient.java PicklockAdapter.java LockContract.java SmallJson.java",
        ],
        run: "java -XX:+UseSerialGC -cp build MyLock",
        renewal: "call PicklockAdapter.extended(token, ttlMs, askedAt) after each renewal, and PicklockAdapter.lost(token) before the lease ends unrenewed",
        variants: JAVA_VARIANTS,
        module_file: None,
        install: JAVA_INSTALL,
        library_packages: &["maven"],
        libraries: JAVA_LIBRARIES,
    },
    Language {
        name: "node",
        aliases: &["javascript", "js", "nodejs", "node.js", "typescript", "ts"],
        about: "Node 18 or later",
        packages: &["nodejs", "npm"],
        ignored: &["node_modules/"],
        module: templates!("node": "picklock_adapter.mjs"),
        example: templates!("node": "my_lock.mjs", "resp_client.mjs"),
        kinds: examples::NODE,
        prepare: &[],
        run: "node my_lock.mjs",
        renewal: "call extended(token, ttlMs, askedAt) after each renewal, and lost(token) before the lease ends unrenewed",
        variants: &[],
        module_file: None,
        install: NODE_INSTALL,
        library_packages: &[],
        libraries: NODE_LIBRARIES,
    },
    Language {
        name: "php",
        aliases: &[],
        about: "PHP 8.1 or later; one client per process",
        packages: &["php-cli"],
        ignored: &["vendor/"],
        module: templates!("php": "picklock_adapter.php"),
        example: templates!("php": "my_lock.php", "resp_client.php"),
        kinds: &[],
        prepare: &[],
        run: "php my_lock.php",
        renewal: "write {\"event\":\"lost\",\"token\":\"TOKEN\"} as a line to STDOUT before the lease ends unrenewed",
        variants: &[],
        module_file: None,
        install: PHP_INSTALL,
        library_packages: &[
            "php-redis",
            "php-illuminate-cache",
            "php-illuminate-redis",
            "php-symfony-cache",
            "php-symfony-lock",
        ],
        libraries: PHP_LIBRARIES,
    },
    Language {
        name: "python",
        aliases: &["python3", "py"],
        about: "Python 3.9 or later",
        packages: &["python3", "python3-venv"],
        ignored: &["__pycache__/", ".venv/"],
        module: templates!("python": "picklock_adapter.py"),
        example: templates!("python": "my_lock.py", "resp_client.py"),
        kinds: examples::PYTHON,
        prepare: &[],
        run: "python3 my_lock.py",
        renewal: "call extended(token, ttl_ms, asked_at) after each renewal, and lost(token) before the lease ends unrenewed",
        variants: &[],
        module_file: None,
        install: PYTHON_INSTALL,
        library_packages: &[],
        libraries: PYTHON_LIBRARIES,
    },
    Language {
        name: "rust",
        aliases: &["rs"],
        about: "Rust 1.80 or later",
        packages: &[],
        ignored: &["target/"],
        module: templates!("rust": "src/picklock_adapter.rs", "src/lock_contract.rs", "src/small_json.rs"),
        example: templates!("rust": "src/main.rs", "src/resp_client.rs", "Cargo.toml" from "Cargo.toml.template"),
        kinds: examples::RUST,
        prepare: &["cargo build"],
        run: "target/debug/my-lock",
        renewal: "call extended(token, ttl, asked_at) after each renewal, and lost(token) before the lease ends unrenewed",
        variants: &[],
        module_file: None,
        install: &[],
        library_packages: &[],
        libraries: RUST_LIBRARIES,
    },
];

/// The packages are on the PATH of later steps, which `activate` and GITHUB_PATH arrange.
const PYTHON_INSTALL: &[&str] = &[
    "python3 -m venv .venv",
    "for file in requirements.txt {root}/requirements.txt; do if [ -f $file ]; then .venv/bin/pip install -r $file; fi; done",
    "if [ -n \"${GITHUB_PATH:-}\" ]; then echo \"$PWD/.venv/bin\" >> \"$GITHUB_PATH\"; fi",
    ". .venv/bin/activate",
];

const NODE_INSTALL: &[&str] = &[
    "for folder in {root} .; do if [ -f $folder/package-lock.json ]; then (cd $folder && npm ci); elif [ -f $folder/package.json ]; then (cd $folder && npm install); fi; done",
];

const PHP_INSTALL: &[&str] = &[
    "for folder in {root} .; do if [ -f $folder/composer.json ]; then (cd $folder && composer install); fi; done",
];

/// The root's artifact goes to the local repository, so that the adapter can depend on it.
const JAVA_INSTALL: &[&str] =
    &["if [ -f {root}/pom.xml ]; then mvn -q -B -f {root}/pom.xml -DskipTests install; fi"];

const CSHARP_VARIANTS: &[Variant] = &[Variant {
    when: When::Instead("mcs", "dotnet"),
    files: &[],
    // GitHub's runners have the SDK. Debian has no package for it.
    packages: &[],
    prepare: &["dotnet build --output build"],
    run: "dotnet build/my-lock.dll",
}];

const JAVA_VARIANTS: &[Variant] = &[Variant {
    when: When::Below("pom.xml"),
    files: templates!("java": "pom.xml"),
    packages: &["default-jdk-headless", "maven"],
    prepare: &[
        "mvn -q compile org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DoutputDirectory=lib",
    ],
    run: "java -XX:+UseSerialGC -cp 'target/classes:lib/*' MyLock",
}];

/// Returns the language with this name or alias.
pub fn named(name: &str) -> Option<&'static Language> {
    let is_named = |language: &&Language| language.name == name || language.aliases.contains(&name);
    LANGUAGES.iter().find(is_named)
}

/// Returns the library whose name is nearest, with its language before it.
pub fn library_like(name: &str) -> Option<(&'static str, &'static str)> {
    let all = || {
        let languages = LANGUAGES.iter();
        languages.flat_map(|language| language.libraries.iter().map(|it| (language.name, it.name)))
    };
    let meant = nearest(name, all().map(|(_, library)| library))?;
    all().find(|(_, library)| *library == meant)
}
