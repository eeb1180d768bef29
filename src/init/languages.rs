//! The languages that `picklock init` supports. To add one, add a folder below `adapters/` and a row here.
//!
//! Cargo manifests have a different name there, because cargo does not package a folder that contains a Cargo.toml.

use picklock_scenarios::nearest;

use super::examples;
use super::template::{
    FENCES, Language, Library, NODES, RENEWS, RWLOCK, SEMAPHORE, Template, Variant, When, templates,
};

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
    // GitHub has the SDK; Debian has no package of it.
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

const VENV: &str = "python3 -m venv .venv";
const PIP: &str = ".venv/bin/pip install -r requirements.txt";

const GO_BUILD: &str = "go build -mod=mod -o my-lock .";
const JARS: &str = "mvn -q org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DoutputDirectory=lib";

const DOTNET_BUILD: &str = "dotnet build --output build";

const CSHARP_LIBRARIES: &[Library] = &[
    Library {
        name: "csredis",
        files: templates!("csharp/csredis": "CsRedisLock.cs", "my-lock.csproj"),
        prepare: &[DOTNET_BUILD],
        run: "dotnet build/my-lock.dll",
        claims: &[RENEWS],
    },
    Library {
        name: "distributedlock",
        files: templates!("csharp/distributedlock": "DistributedLock.cs", "Multiplexer.cs" from "../stackexchange-redis/Multiplexer.cs", "my-lock.csproj"),
        prepare: &[DOTNET_BUILD],
        run: "dotnet build/my-lock.dll",
        claims: &[RENEWS],
    },
    Library {
        name: "freeredis",
        files: templates!("csharp/freeredis": "FreeRedisLock.cs", "my-lock.csproj"),
        prepare: &[DOTNET_BUILD],
        run: "dotnet build/my-lock.dll",
        claims: &[RENEWS],
    },
    Library {
        name: "redlock-net",
        files: templates!("csharp/redlock-net": "RedLockNetLock.cs", "my-lock.csproj"),
        prepare: &[DOTNET_BUILD],
        run: "dotnet build/my-lock.dll",
        claims: &[NODES, RENEWS],
    },
    Library {
        name: "stackexchange-redis",
        files: templates!("csharp/stackexchange-redis": "StackExchangeLock.cs", "Multiplexer.cs", "my-lock.csproj"),
        prepare: &[DOTNET_BUILD],
        run: "dotnet build/my-lock.dll",
        claims: &[],
    },
];

const GO_LIBRARIES: &[Library] = &[
    Library {
        name: "go-redis",
        files: templates!("go/go-redis": "go_redis.go", "go.mod" from "../go.mod"),
        prepare: &["go get github.com/redis/go-redis/v9@v9.23.0", GO_BUILD],
        run: "./my-lock",
        claims: &[],
    },
    Library {
        name: "redislock",
        files: templates!("go/redislock": "redislock.go", "go.mod" from "../go.mod"),
        prepare: &[
            "go get github.com/bsm/redislock@v0.9.4 github.com/redis/go-redis/v9@v9.23.0",
            GO_BUILD,
        ],
        run: "./my-lock",
        claims: &[],
    },
    Library {
        name: "redsync",
        files: templates!("go/redsync": "redsync.go", "go.mod" from "../go.mod"),
        prepare: &[
            "go get github.com/go-redsync/redsync/v4@v4.18.1 github.com/redis/go-redis/v9@v9.23.0",
            GO_BUILD,
        ],
        run: "./my-lock",
        claims: &[NODES],
    },
    Library {
        name: "redsync-goredis8",
        files: templates!("go/redsync-goredis8": "redsync_goredis8.go", "go.mod" from "../go.mod"),
        prepare: &[
            "go get github.com/go-redsync/redsync/v4@v4.18.1 github.com/go-redis/redis/v8@v8.11.5",
            GO_BUILD,
        ],
        run: "./my-lock",
        claims: &[NODES],
    },
    Library {
        name: "rueidislock",
        files: templates!("go/rueidislock": "rueidislock.go", "go.mod" from "../go.mod"),
        prepare: &["go get github.com/redis/rueidis@v1.0.79", GO_BUILD],
        run: "./my-lock",
        claims: &[RENEWS],
    },
];

const JAVA_LIBRARIES: &[Library] = &[
    Library {
        name: "lock4j",
        files: templates!("java/lock4j": "Lock4jLock.java", "SpringRedis.java" from "../spring-data-redis/SpringRedis.java", "pom.xml"),
        prepare: &[
            JARS,
            "javac -cp 'build:lib/*' -d build Lock4jLock.java SpringRedis.java PicklockAdapter.java SmallJson.java",
        ],
        run: "java -cp 'build:lib/*' -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 Lock4jLock",
        claims: &[],
    },
    Library {
        name: "redisson",
        files: templates!("java/redisson": "RedissonLock.java", "pom.xml"),
        prepare: &[
            JARS,
            "javac -cp 'build:lib/*' -d build RedissonLock.java PicklockAdapter.java LockContract.java SmallJson.java",
        ],
        run: "java -cp 'build:lib/*' -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 RedissonLock",
        claims: &[],
    },
    Library {
        name: "redisson-fenced",
        files: templates!("java/redisson-fenced": "RedissonFencedLock.java", "pom.xml" from "../redisson/pom.xml"),
        prepare: &[
            JARS,
            "javac -cp 'build:lib/*' -d build RedissonFencedLock.java PicklockAdapter.java LockContract.java SmallJson.java",
        ],
        run: "java -cp 'build:lib/*' -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 RedissonFencedLock",
        claims: &[FENCES],
    },
    Library {
        name: "redisson-rwlock",
        files: templates!("java/redisson-rwlock": "RedissonRwLock.java", "RedissonClients.java" from "../redisson-semaphore/RedissonClients.java", "pom.xml" from "../redisson-semaphore/pom.xml"),
        prepare: &[
            JARS,
            "javac -cp 'build:lib/*' -sourcepath . -d build RedissonRwLock.java",
        ],
        run: "java -cp 'build:lib/*' -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 RedissonRwLock",
        claims: &[RWLOCK],
    },
    Library {
        name: "redisson-semaphore",
        files: templates!("java/redisson-semaphore": "RedissonSemaphores.java", "RedissonClients.java", "pom.xml"),
        prepare: &[
            JARS,
            "javac -cp 'build:lib/*' -sourcepath . -d build RedissonSemaphores.java",
        ],
        run: "java -cp 'build:lib/*' -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 RedissonSemaphores",
        claims: &[SEMAPHORE],
    },
    Library {
        name: "shedlock",
        files: templates!("java/shedlock": "ShedLock.java", "SpringRedis.java" from "../spring-data-redis/SpringRedis.java", "pom.xml"),
        prepare: &[
            JARS,
            "javac -cp 'build:lib/*' -d build ShedLock.java SpringRedis.java PicklockAdapter.java LockContract.java SmallJson.java",
        ],
        run: "java -cp 'build:lib/*' -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 ShedLock",
        claims: &[],
    },
    Library {
        name: "spring-data-redis",
        files: templates!("java/spring-data-redis": "SpringDataLock.java", "SpringRedis.java", "pom.xml"),
        prepare: &[
            JARS,
            "javac -cp 'build:lib/*' -d build SpringDataLock.java SpringRedis.java PicklockAdapter.java LockContract.java SmallJson.java",
        ],
        run: "java -cp 'build:lib/*' -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 SpringDataLock",
        claims: &[],
    },
    Library {
        name: "spring-integration",
        files: templates!("java/spring-integration": "SpringIntegrationLock.java", "SpringRedis.java" from "../spring-data-redis/SpringRedis.java", "pom.xml"),
        prepare: &[
            JARS,
            "javac -cp 'build:lib/*' -d build SpringIntegrationLock.java SpringRedis.java PicklockAdapter.java LockContract.java SmallJson.java",
        ],
        run: "java -cp 'build:lib/*' -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 SpringIntegrationLock",
        claims: &[],
    },
];

const NODE_LIBRARIES: &[Library] = &[
    Library {
        name: "node-redlock",
        files: templates!("node/node-redlock": "redlock.mjs"),
        prepare: &[
            "npm install --prefix . --no-audit --no-fund ioredis@5.8.2 redlock@5.0.0-beta.2",
        ],
        run: "node redlock.mjs",
        claims: &[NODES],
    },
    Library {
        name: "node-redlock-4",
        files: templates!("node/node-redlock-4": "redlock_4.mjs"),
        prepare: &["npm install --prefix . --no-audit --no-fund ioredis@5.8.2 redlock@4.2.0"],
        run: "node redlock_4.mjs",
        claims: &[NODES],
    },
    Library {
        name: "redis-semaphore",
        files: templates!("node/redis-semaphore": "redis_semaphore.mjs"),
        prepare: &[
            "npm install --prefix . --no-audit --no-fund ioredis@5.8.2 redis-semaphore@5.8.0",
        ],
        run: "node redis_semaphore.mjs",
        claims: &[RENEWS],
    },
    Library {
        name: "redis-semaphore-permits",
        files: templates!("node/redis-semaphore": "redis_semaphore_permits.mjs"),
        prepare: &[
            "npm install --prefix . --no-audit --no-fund ioredis@5.8.2 redis-semaphore@5.8.0",
        ],
        run: "node redis_semaphore_permits.mjs",
        claims: &[SEMAPHORE, RENEWS],
    },
    Library {
        name: "redlock-universal",
        files: templates!("node/redlock-universal": "redlock_universal.mjs"),
        prepare: &[
            "npm install --prefix . --no-audit --no-fund ioredis@5.8.2 redlock-universal@0.8.5",
        ],
        run: "node redlock_universal.mjs",
        claims: &[],
    },
    Library {
        name: "sesamecare-redlock",
        files: templates!("node/node-redlock": "redlock.mjs"),
        prepare: &[
            "npm install --prefix . --no-audit --no-fund ioredis@5.8.2 redlock@npm:@sesamecare-oss/redlock@1.4.0",
        ],
        run: "node redlock.mjs",
        claims: &[NODES],
    },
    Library {
        name: "simple-redis-mutex",
        files: templates!("node/simple-redis-mutex": "simple_redis_mutex.mjs"),
        prepare: &[
            "npm install --prefix . --no-audit --no-fund redis@5.12.1 simple-redis-mutex@3.0.0",
        ],
        run: "node simple_redis_mutex.mjs",
        claims: &[FENCES],
    },
    Library {
        name: "verrou",
        files: templates!("node/verrou": "verrou.mjs"),
        prepare: &["npm install --prefix . --no-audit --no-fund ioredis@5.8.2 @verrou/core@0.5.2"],
        run: "node verrou.mjs",
        claims: &[],
    },
];

/// The packages are Debian's, whose release pins their versions. `installed` also loads those of Composer.
const PHP_LIBRARIES: &[Library] = &[
    Library {
        name: "laravel-cache-lock",
        files: templates!("php/laravel-cache-lock": "laravel_cache_lock.php"),
        prepare: &["dpkg-query --show php-redis php-illuminate-cache php-illuminate-redis"],
        run: "php laravel_cache_lock.php",
        claims: &[],
    },
    Library {
        name: "symfony-lock",
        files: templates!("php/symfony-lock": "symfony_lock.php"),
        prepare: &["dpkg-query --show php-redis php-symfony-cache php-symfony-lock"],
        run: "php symfony_lock.php",
        claims: &[],
    },
];

const PYTHON_LIBRARIES: &[Library] = &[
    Library {
        name: "celery-once",
        files: templates!("python/celery-once": "celery_once_lock.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python celery_once_lock.py",
        claims: &[],
    },
    Library {
        name: "celery-redbeat",
        files: templates!("python/celery-redbeat": "redbeat_lock.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python redbeat_lock.py",
        claims: &[],
    },
    Library {
        name: "django-redis",
        files: templates!("python/django-redis": "django_redis_lock.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python django_redis_lock.py",
        claims: &[],
    },
    Library {
        name: "pottery",
        files: templates!("python/pottery": "pottery_redlock.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python pottery_redlock.py",
        claims: &[NODES],
    },
    Library {
        name: "python-redis-lock",
        files: templates!("python/python-redis-lock": "python_redis_lock.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python python_redis_lock.py",
        claims: &[RENEWS],
    },
    Library {
        name: "redis-py",
        files: templates!("python": "redis_py_lock.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python redis_py_lock.py",
        claims: &[],
    },
    Library {
        name: "redis-semaphore-pypi",
        files: templates!("python/redis-semaphore": "redis_semaphore_permits.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python redis_semaphore_permits.py",
        claims: &[SEMAPHORE],
    },
    Library {
        name: "redlock-py",
        files: templates!("python/redlock-py": "redlock_py.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python redlock_py.py",
        claims: &[NODES],
    },
];

const RUST_LIBRARIES: &[Library] = &[Library {
    name: "rslock",
    files: templates!("rust/rslock": "src/main.rs", "src/guards.rs", "Cargo.toml" from "Cargo.toml.template", "Cargo.lock"),
    prepare: &["cargo build --locked"],
    run: "target/debug/rslock-adapter",
    claims: &[NODES],
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
