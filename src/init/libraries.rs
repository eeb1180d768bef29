//! The lock libraries that `picklock init` supports, by language.

use super::template::{FENCES, Library, NODES, RENEWS, RWLOCK, SEMAPHORE, Template, templates};

const VENV: &str = "python3 -m venv .venv";
const PIP: &str = ".venv/bin/pip install -r requirements.txt";

const GO_BUILD: &str = "go build -mod=mod -o my-lock .";
const JARS: &str = "mvn -q org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DoutputDirectory=lib";

const DOTNET_BUILD: &str = "dotnet build --output build";

pub(super) const CSHARP_LIBRARIES: &[Library] = &[
    Library {
        name: "csredis",
        files: templates!("csharp/csredis": "CsRedisLock.cs", "my-lock.csproj"),
        prepare: &[DOTNET_BUILD],
        run: "dotnet build/my-lock.dll",
        declares: &[RENEWS],
    },
    Library {
        name: "distributedlock",
        files: templates!("csharp/distributedlock": "DistributedLock.cs", "Multiplexer.cs" from "../stackexchange-redis/Multiplexer.cs", "my-lock.csproj"),
        prepare: &[DOTNET_BUILD],
        run: "dotnet build/my-lock.dll",
        declares: &[RENEWS],
    },
    Library {
        name: "freeredis",
        files: templates!("csharp/freeredis": "FreeRedisLock.cs", "my-lock.csproj"),
        prepare: &[DOTNET_BUILD],
        run: "dotnet build/my-lock.dll",
        declares: &[RENEWS],
    },
    Library {
        name: "redlock-net",
        files: templates!("csharp/redlock-net": "RedLockNetLock.cs", "my-lock.csproj"),
        prepare: &[DOTNET_BUILD],
        run: "dotnet build/my-lock.dll",
        declares: &[NODES, RENEWS],
    },
    Library {
        name: "stackexchange-redis",
        files: templates!("csharp/stackexchange-redis": "StackExchangeLock.cs", "Multiplexer.cs", "my-lock.csproj"),
        prepare: &[DOTNET_BUILD],
        run: "dotnet build/my-lock.dll",
        declares: &[],
    },
];

pub(super) const GO_LIBRARIES: &[Library] = &[
    Library {
        name: "go-redis",
        files: templates!("go/go-redis": "go_redis.go", "go.mod" from "../go.mod"),
        prepare: &["go get github.com/redis/go-redis/v9@v9.23.0", GO_BUILD],
        run: "./my-lock",
        declares: &[],
    },
    Library {
        name: "redislock",
        files: templates!("go/redislock": "redislock.go", "go.mod" from "../go.mod"),
        prepare: &[
            "go get github.com/bsm/redislock@v0.9.4 github.com/redis/go-redis/v9@v9.23.0",
            GO_BUILD,
        ],
        run: "./my-lock",
        declares: &[],
    },
    Library {
        name: "redsync",
        files: templates!("go/redsync": "redsync.go", "go.mod" from "../go.mod"),
        prepare: &[
            "go get github.com/go-redsync/redsync/v4@v4.18.1 github.com/redis/go-redis/v9@v9.23.0",
            GO_BUILD,
        ],
        run: "./my-lock",
        declares: &[NODES],
    },
    Library {
        name: "redsync-goredis8",
        files: templates!("go/redsync-goredis8": "redsync_goredis8.go", "go.mod" from "../go.mod"),
        prepare: &[
            "go get github.com/go-redsync/redsync/v4@v4.18.1 github.com/go-redis/redis/v8@v8.11.5",
            GO_BUILD,
        ],
        run: "./my-lock",
        declares: &[NODES],
    },
    Library {
        name: "rueidislock",
        files: templates!("go/rueidislock": "rueidislock.go", "go.mod" from "../go.mod"),
        prepare: &["go get github.com/redis/rueidis@v1.0.79", GO_BUILD],
        run: "./my-lock",
        declares: &[RENEWS],
    },
];

pub(super) const JAVA_LIBRARIES: &[Library] = &[
    Library {
        name: "lock4j",
        files: templates!("java/lock4j": "Lock4jLock.java", "SpringRedis.java" from "../spring-data-redis/SpringRedis.java", "pom.xml"),
        prepare: &[
            JARS,
            "javac -cp 'build:lib/*' -d build Lock4jLock.java SpringRedis.java PicklockAdapter.java LockContract.java SmallJson.java",
        ],
        run: "java -cp 'build:lib/*' -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 Lock4jLock",
        declares: &[],
    },
    Library {
        name: "redisson",
        files: templates!("java/redisson": "RedissonLock.java", "pom.xml"),
        prepare: &[
            JARS,
            "javac -cp 'build:lib/*' -d build RedissonLock.java PicklockAdapter.java LockContract.java SmallJson.java",
        ],
        run: "java -cp 'build:lib/*' -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 RedissonLock",
        declares: &[],
    },
    Library {
        name: "redisson-fenced",
        files: templates!("java/redisson-fenced": "RedissonFencedLock.java", "pom.xml" from "../redisson/pom.xml"),
        prepare: &[
            JARS,
            "javac -cp 'build:lib/*' -d build RedissonFencedLock.java PicklockAdapter.java LockContract.java SmallJson.java",
        ],
        run: "java -cp 'build:lib/*' -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 RedissonFencedLock",
        declares: &[FENCES],
    },
    Library {
        name: "redisson-rwlock",
        files: templates!("java/redisson-rwlock": "RedissonRwLock.java", "RedissonClients.java" from "../redisson-semaphore/RedissonClients.java", "pom.xml" from "../redisson-semaphore/pom.xml"),
        prepare: &[
            JARS,
            "javac -cp 'build:lib/*' -sourcepath . -d build RedissonRwLock.java",
        ],
        run: "java -cp 'build:lib/*' -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 RedissonRwLock",
        declares: &[RWLOCK],
    },
    Library {
        name: "redisson-semaphore",
        files: templates!("java/redisson-semaphore": "RedissonSemaphores.java", "RedissonClients.java", "pom.xml"),
        prepare: &[
            JARS,
            "javac -cp 'build:lib/*' -sourcepath . -d build RedissonSemaphores.java",
        ],
        run: "java -cp 'build:lib/*' -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 RedissonSemaphores",
        declares: &[SEMAPHORE],
    },
    Library {
        name: "shedlock",
        files: templates!("java/shedlock": "ShedLock.java", "SpringRedis.java" from "../spring-data-redis/SpringRedis.java", "pom.xml"),
        prepare: &[
            JARS,
            "javac -cp 'build:lib/*' -d build ShedLock.java SpringRedis.java PicklockAdapter.java LockContract.java SmallJson.java",
        ],
        run: "java -cp 'build:lib/*' -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 ShedLock",
        declares: &[],
    },
    Library {
        name: "spring-data-redis",
        files: templates!("java/spring-data-redis": "SpringDataLock.java", "SpringRedis.java", "pom.xml"),
        prepare: &[
            JARS,
            "javac -cp 'build:lib/*' -d build SpringDataLock.java SpringRedis.java PicklockAdapter.java LockContract.java SmallJson.java",
        ],
        run: "java -cp 'build:lib/*' -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 SpringDataLock",
        declares: &[],
    },
    Library {
        name: "spring-integration",
        files: templates!("java/spring-integration": "SpringIntegrationLock.java", "SpringRedis.java" from "../spring-data-redis/SpringRedis.java", "pom.xml"),
        prepare: &[
            JARS,
            "javac -cp 'build:lib/*' -d build SpringIntegrationLock.java SpringRedis.java PicklockAdapter.java LockContract.java SmallJson.java",
        ],
        run: "java -cp 'build:lib/*' -XX:-UsePerfData -XX:+UseSerialGC -XX:TieredStopAtLevel=1 SpringIntegrationLock",
        declares: &[],
    },
];

pub(super) const NODE_LIBRARIES: &[Library] = &[
    Library {
        name: "node-redlock",
        files: templates!("node/node-redlock": "redlock.mjs"),
        prepare: &[
            "npm install --prefix . --no-audit --no-fund ioredis@5.8.2 redlock@5.0.0-beta.2",
        ],
        run: "node redlock.mjs",
        declares: &[NODES],
    },
    Library {
        name: "node-redlock-4",
        files: templates!("node/node-redlock-4": "redlock_4.mjs"),
        prepare: &["npm install --prefix . --no-audit --no-fund ioredis@5.8.2 redlock@4.2.0"],
        run: "node redlock_4.mjs",
        declares: &[NODES],
    },
    Library {
        name: "redis-semaphore",
        files: templates!("node/redis-semaphore": "redis_semaphore.mjs"),
        prepare: &[
            "npm install --prefix . --no-audit --no-fund ioredis@5.8.2 redis-semaphore@5.8.0",
        ],
        run: "node redis_semaphore.mjs",
        declares: &[RENEWS],
    },
    Library {
        name: "redis-semaphore-permits",
        files: templates!("node/redis-semaphore": "redis_semaphore_permits.mjs"),
        prepare: &[
            "npm install --prefix . --no-audit --no-fund ioredis@5.8.2 redis-semaphore@5.8.0",
        ],
        run: "node redis_semaphore_permits.mjs",
        declares: &[SEMAPHORE, RENEWS],
    },
    Library {
        name: "redlock-universal",
        files: templates!("node/redlock-universal": "redlock_universal.mjs"),
        prepare: &[
            "npm install --prefix . --no-audit --no-fund ioredis@5.8.2 redlock-universal@0.8.5",
        ],
        run: "node redlock_universal.mjs",
        declares: &[],
    },
    Library {
        name: "sesamecare-redlock",
        files: templates!("node/node-redlock": "redlock.mjs"),
        prepare: &[
            "npm install --prefix . --no-audit --no-fund ioredis@5.8.2 redlock@npm:@sesamecare-oss/redlock@1.4.0",
        ],
        run: "node redlock.mjs",
        declares: &[NODES],
    },
    Library {
        name: "simple-redis-mutex",
        files: templates!("node/simple-redis-mutex": "simple_redis_mutex.mjs"),
        prepare: &[
            "npm install --prefix . --no-audit --no-fund redis@5.12.1 simple-redis-mutex@3.0.0",
        ],
        run: "node simple_redis_mutex.mjs",
        declares: &[FENCES],
    },
    Library {
        name: "verrou",
        files: templates!("node/verrou": "verrou.mjs"),
        prepare: &["npm install --prefix . --no-audit --no-fund ioredis@5.8.2 @verrou/core@0.5.2"],
        run: "node verrou.mjs",
        declares: &[],
    },
];

/// The packages are Debian's, whose release pins their versions. `installed` also loads those of Composer.
pub(super) const PHP_LIBRARIES: &[Library] = &[
    Library {
        name: "laravel-cache-lock",
        files: templates!("php/laravel-cache-lock": "laravel_cache_lock.php"),
        prepare: &["dpkg-query --show php-redis php-illuminate-cache php-illuminate-redis"],
        run: "php laravel_cache_lock.php",
        declares: &[],
    },
    Library {
        name: "symfony-lock",
        files: templates!("php/symfony-lock": "symfony_lock.php"),
        prepare: &["dpkg-query --show php-redis php-symfony-cache php-symfony-lock"],
        run: "php symfony_lock.php",
        declares: &[],
    },
];

pub(super) const PYTHON_LIBRARIES: &[Library] = &[
    Library {
        name: "celery-once",
        files: templates!("python/celery-once": "celery_once_lock.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python celery_once_lock.py",
        declares: &[],
    },
    Library {
        name: "celery-redbeat",
        files: templates!("python/celery-redbeat": "redbeat_lock.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python redbeat_lock.py",
        declares: &[],
    },
    Library {
        name: "django-redis",
        files: templates!("python/django-redis": "django_redis_lock.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python django_redis_lock.py",
        declares: &[],
    },
    Library {
        name: "pottery",
        files: templates!("python/pottery": "pottery_redlock.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python pottery_redlock.py",
        declares: &[NODES],
    },
    Library {
        name: "python-redis-lock",
        files: templates!("python/python-redis-lock": "python_redis_lock.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python python_redis_lock.py",
        declares: &[RENEWS],
    },
    Library {
        name: "redis-py",
        files: templates!("python": "redis_py_lock.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python redis_py_lock.py",
        declares: &[],
    },
    Library {
        name: "redis-semaphore-pypi",
        files: templates!("python/redis-semaphore": "redis_semaphore_permits.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python redis_semaphore_permits.py",
        declares: &[SEMAPHORE],
    },
    Library {
        name: "redlock-py",
        files: templates!("python/redlock-py": "redlock_py.py", "requirements.txt"),
        prepare: &[VENV, PIP],
        run: ".venv/bin/python redlock_py.py",
        declares: &[NODES],
    },
];

pub(super) const RUST_LIBRARIES: &[Library] = &[Library {
    name: "rslock",
    files: templates!("rust/rslock": "src/main.rs", "src/guards.rs", "Cargo.toml" from "Cargo.toml.template", "Cargo.lock"),
    prepare: &["cargo build --locked"],
    run: "target/debug/rslock-adapter",
    declares: &[NODES],
}];
