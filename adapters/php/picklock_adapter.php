<?php

// Picklock's adapter protocol, version 1, for a lock in PHP 8.1 or later. Needs no extension and no package.
//
// `serve` reads requests from standard input and answers them; docs/protocol.md of Picklock describes
// them. Output of your lock or its library is redirected to standard error, which goes to the worker's log.

declare(strict_types=1);

namespace Picklock;

/** Throw this if the request certainly had no effect: no key was changed. Every other exception is reported as one
 * that may have had an effect. */
final class Definite extends \Exception
{
}

/** A granted lock. `token` is passed back to `extend` and `release`. `fence` is the fencing token, if the lock has
 * them. `askedAt` is the time, by `now`, at which the command that took the lock was sent. Without it the answer has no
 * `valid_ms`, and Picklock bounds the lease by its own clock. */
final class Grant
{
    public function __construct(public string $token, public ?int $fence = null, public ?float $askedAt = null)
    {
    }
}

/** Returns milliseconds on a monotonic clock. */
function now(): float
{
    return hrtime(true) / 1e6;
}

/** Calls `attempt` until it returns a grant or `waitMs` is over; if that is 0, once. For locks that do not wait by
 * themselves. */
function tryFor(int $waitMs, callable $attempt): ?Grant
{
    $until = now() + $waitMs;
    while (true) {
        $askedAt = now();
        if ($grant = $attempt()) {
            $grant->askedAt ??= $askedAt;
            return $grant;
        }
        $pauseMs = random_int(10, 50);
        if (now() + $pauseMs >= $until) {
            return null;
        }
        usleep($pauseMs * 1000);
    }
}

/** For a library that returns an object for each grant. A subclass has `take(key, ttlMs, waitMs)`, which returns a
 * grant and such an object, or null; and `free(object)`, which returns the same as `release`. */
abstract class LockObjects
{
    private array $objects = [];

    /** @return array{Grant, object}|null */
    abstract protected function take(string $key, int $ttlMs, int $waitMs): ?array;

    abstract protected function free(object $object): ?bool;

    public function acquire(string $key, int $ttlMs, int $waitMs): ?Grant
    {
        if (!$taken = $this->take($key, $ttlMs, $waitMs)) {
            return null;
        }
        [$grant, $this->objects[$grant->token]] = $taken;
        return $grant;
    }

    public function release(string $key, string $token): ?bool
    {
        $released = $this->free($this->object($token));
        // Not reached if `free` failed, because the lock may still be held.
        unset($this->objects[$token]);
        return $released;
    }

    protected function object(string $token): object
    {
        return $this->objects[$token] ?? throw new Definite("no grant has the token $token");
    }
}

/** Loads a library that Composer or Debian has installed, and returns its version. `folder` is the one that Debian's
 * package creates below /usr/share/php. */
function installed(string $package, string $debianPackage, string $folder): string
{
    if (is_file(__DIR__ . '/vendor/autoload.php')) {
        require_once __DIR__ . '/vendor/autoload.php';
        return \Composer\InstalledVersions::getPrettyVersion($package);
    }
    require_once "/usr/share/php/$folder/autoload.php";
    return (string) shell_exec("dpkg-query --show --showformat='\${Version}' " . escapeshellarg($debianPackage));
}

/** Answers requests until standard input ends.
 *
 * `makeLock(nodes, timeoutMs, options)` returns the lock. `nodes` are URLs such as redis://HOST:PORT. The lock has
 * `acquire(key, ttlMs, waitMs)`, which returns a grant or null; `release(key, token)`, which returns true, false, or
 * null if the library does not report whether the lock was still held; and, if it can, `extend(key, token, ttlMs)`,
 * which returns a grant or null. `options` are the names that `--impl-option` may have. A lock may have the properties
 * `minHoldMs` (its key stays for up to this time after a release) and `leaseMarginMs` (its key lives this much longer
 * than the lease). SIGTERM ends the process at once, PHP's default. */
function serve(callable $makeLock, string $name, string $version = '', array $options = []): void
{
    // Standard output is reserved for the protocol; PHP writes warnings and the output of `echo` to it.
    ini_set('display_errors', 'stderr');
    ob_start(static function (string $text): string {
        fwrite(STDERR, $text);
        return '';
    }, 1);
    $lock = null;
    while (($line = fgets(STDIN)) !== false) {
        $readAt = now();
        $request = json_decode($line, true);
        if (!is_array($request) || !isset($request['id'])) {
            fwrite(STDERR, "not a request: $line\n");
            continue;
        }
        try {
            if ($request['op'] === 'init') {
                $lock = made($makeLock, $request, $options);
                $answer = ready($lock, $name, $version);
            } else {
                $answer = answer($lock, $request, $readAt);
            }
        } catch (Definite $problem) {
            $answer = ['reply' => 'error', 'message' => $problem->getMessage(), 'definite' => true];
        } catch (\Throwable $problem) {
            fwrite(STDERR, "$problem\n");
            $message = get_debug_type($problem) . ': ' . $problem->getMessage();
            $answer = ['reply' => 'error', 'message' => $message, 'definite' => false];
        }
        fwrite(STDOUT, json_encode(['id' => $request['id']] + $answer, JSON_INVALID_UTF8_SUBSTITUTE) . "\n");
    }
}

function made(callable $makeLock, array $request, array $options): object
{
    if (($request['protocol'] ?? 0) !== 1) {
        throw new Definite('only version 1 of the protocol is supported');
    }
    $given = (array) ($request['options'] ?? []);
    if ($unknown = array_diff(array_keys($given), $options)) {
        throw new Definite('unknown options ' . implode(', ', $unknown) . '; there are ' . implode(', ', $options));
    }
    return $makeLock($request['nodes'], $request['timeout_ms'], $given);
}

function ready(object $lock, string $name, string $version): array
{
    $ready = ['reply' => 'ready', 'name' => $name, 'version' => $version, 'extends' => method_exists($lock, 'extend')];
    foreach (['min_hold_ms' => 'minHoldMs', 'lease_margin_ms' => 'leaseMarginMs'] as $field => $property) {
        if (isset($lock->$property)) {
            $ready[$field] = $lock->$property;
        }
    }
    return $ready;
}

function answer(?object $lock, array $request, float $readAt): array
{
    $op = $request['op'];
    if ($op === 'ping') {
        return ['reply' => 'pong'];
    }
    if (!in_array($op, ['acquire', 'extend', 'release'], true)) {
        throw new Definite("unknown op $op");
    }
    if ($lock === null) {
        throw new Definite('`init` must come first');
    }
    $key = $request['key'];
    if ($op === 'release') {
        return ['reply' => 'released', 'released' => $lock->release($key, $request['token'])];
    }
    $ttlMs = $request['ttl_ms'];
    if ($op === 'acquire') {
        return granted($lock->acquire($key, $ttlMs, $request['wait_ms']), $ttlMs, $readAt);
    }
    if (!method_exists($lock, 'extend')) {
        return ['reply' => 'unsupported'];
    }
    return granted($lock->extend($key, $request['token'], $ttlMs), $ttlMs, $readAt);
}

function granted(?Grant $grant, int $ttlMs, float $readAt): array
{
    if ($grant === null) {
        return ['reply' => 'refused'];
    }
    $answer = ['reply' => 'granted', 'token' => $grant->token, 'elapsed_ms' => (int) floor(now() - $readAt)];
    // Computed after `elapsed_ms`, so that the time between the two cannot lengthen the lease.
    if ($grant->askedAt !== null) {
        $answer['valid_ms'] = max(0, (int) floor($ttlMs - (now() - $grant->askedAt)));
    }
    return $grant->fence === null ? $answer : $answer + ['fence' => $grant->fence];
}
