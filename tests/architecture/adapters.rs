//! The adapter of a library is short, because the module next to it does the rest.

use std::path::Path;

/// Maximum length in lines of the adapters of lab/pages/findings.md, without their modules.
///
/// Options and types need additional lines.
const ADAPTERS: &[(&str, usize)] = &[
    ("python/redis_py_lock.py", 15),
    ("python/pottery/pottery_redlock.py", 15),
    ("python/python-redis-lock/python_redis_lock.py", 15),
    ("python/redlock-py/redlock_py.py", 15),
    ("python/redis-semaphore/redis_semaphore_permits.py", 35),
    ("python/django-redis/django_redis_lock.py", 15),
    ("python/celery-redbeat/redbeat_lock.py", 30),
    ("python/celery-once/celery_once_lock.py", 22),
    ("rust/rslock/src/main.rs", 15),
    ("node/node-redlock/redlock.mjs", 25),
    ("node/node-redlock-4/redlock_4.mjs", 25),
    ("node/redis-semaphore/redis_semaphore.mjs", 25),
    ("node/redis-semaphore/redis_semaphore_permits.mjs", 60),
    ("node/redlock-universal/redlock_universal.mjs", 31),
    ("node/simple-redis-mutex/simple_redis_mutex.mjs", 35),
    ("node/verrou/verrou.mjs", 25),
    ("go/go-redis/go_redis.go", 50),
    ("go/redislock/redislock.go", 50),
    ("go/redsync/redsync.go", 50),
    ("go/redsync-goredis8/redsync_goredis8.go", 50),
    ("go/rueidislock/rueidislock.go", 56),
    ("java/lock4j/Lock4jLock.java", 50),
    ("java/redisson/RedissonLock.java", 50),
    ("java/redisson-fenced/RedissonFencedLock.java", 50),
    ("java/redisson-rwlock/RedissonRwLock.java", 50),
    ("java/redisson-semaphore/RedissonSemaphores.java", 100),
    ("java/shedlock/ShedLock.java", 50),
    ("java/spring-data-redis/SpringDataLock.java", 50),
    ("java/spring-integration/SpringIntegrationLock.java", 50),
    ("php/laravel-cache-lock/laravel_cache_lock.php", 40),
    ("php/symfony-lock/symfony_lock.php", 40),
];

/// Lines with which the program starts.
const STARTS: &[&str] = &[
    "if __name__",
    "fn main",
    "func main",
    "await serve",
    "public static void main",
];

/// Counts the adapter's own lines of code: without imports, comments, the start of the program, and lines that only
/// close a block.
fn own_lines(text: &str) -> usize {
    let is_start = |line: &&str| STARTS.iter().any(|start| line.trim().starts_with(start));
    let mut in_docstring = false;
    let counts = |line: &&str| {
        let line = line.trim();
        let quotes = line.matches("\"\"\"").count();
        let was_in_docstring = in_docstring;
        in_docstring ^= quotes % 2 == 1;
        let is_import = ["import ", "from ", "use ", "mod ", "package ", "\""]
            .iter()
            .any(|word| line.starts_with(word));
        let is_comment = ["#", "//", "/*", "*", "@"]
            .iter()
            .any(|start| line.starts_with(start));
        let is_code = line.contains(char::is_alphanumeric);
        is_code && !(was_in_docstring || quotes > 0 || is_import || is_comment)
    };
    let own = text.lines().take_while(|line| !is_start(line));
    own.filter(counts).count()
}

#[test]
fn the_adapter_of_a_library_is_short() {
    let adapters = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters");
    let mut others = Vec::new();
    for (path, longest) in ADAPTERS {
        let text = std::fs::read_to_string(adapters.join(path)).expect("the adapter can be read");
        let lines = own_lines(&text);
        if !(5..=*longest).contains(&lines) {
            others.push(format!("{path}: {lines} lines, at most {longest}"));
        }
    }
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
fn only_code_of_its_own_counts() {
    let text = "#!/usr/bin/env python3\n\"\"\"Words.\n\nMore.\n\"\"\"\nimport time\n\n# Why.\nclass Mine:\n    \
        \"\"\"Words.\"\"\"\n    pass\n\nif __name__ == \"__main__\":\n    serve()\n";
    assert_eq!(own_lines(text), 2);
}
