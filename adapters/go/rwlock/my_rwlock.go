// Picklock adapter for your read/write lock. The example keeps its holders in a sorted set on the first node, by the ends
// of their leases on the server's clock. A writer that waits keeps new readers out.

package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"
)

const take = `
local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if string.sub(ARGV[1], 1, 1) == 'w' then
  if redis.call('ZCARD', KEYS[1]) > 0 then
    redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
    redis.call('PEXPIRE', KEYS[2], ARGV[2] * 2)
    return 0
  end
  redis.call('ZREM', KEYS[2], ARGV[1])
else
  if redis.call('ZCARD', KEYS[2]) > 0 then return 0 end
  for _, holder in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    if string.sub(holder, 1, 1) == 'w' then return 0 end
  end
end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
if redis.call('PTTL', KEYS[1]) < ARGV[2] * 2 then redis.call('PEXPIRE', KEYS[1], ARGV[2] * 2) end
return 1`

type myReadWriteLock struct{ redis *RespClient }

func makeLock(nodes []string, timeout time.Duration, options map[string]string) (Lock, error) {
	redis, err := NewRespClient(nodes[0], timeout)
	return &myReadWriteLock{redis}, err
}

func (l *myReadWriteLock) Acquire(key string, ttl, wait time.Duration) (*Grant, error) {
	return l.AcquireContext(context.Background(), key, ttl, wait)
}

// For a writer.
func (l *myReadWriteLock) AcquireContext(ctx context.Context, key string, ttl, wait time.Duration) (*Grant, error) {
	return l.take(ctx, "w", key, ttl, wait)
}

// For a reader.
func (l *myReadWriteLock) AcquireShared(ctx context.Context, key string, ttl, wait time.Duration) (*Grant, error) {
	return l.take(ctx, "r", key, ttl, wait)
}

func (l *myReadWriteLock) take(ctx context.Context, mode, key string, ttl, wait time.Duration) (*Grant, error) {
	token := mode + ":" + newToken()
	return TryForContext(ctx, wait, func() (*Grant, error) {
		reply, err := l.redis.Command("EVAL", take, 2, key, key+":waiting", token, ttl.Milliseconds())
		if err != nil || reply != int64(1) {
			return nil, err
		}
		return &Grant{Token: token}, nil
	})
}

func (l *myReadWriteLock) Release(key, token string) (*bool, error) {
	reply, err := l.redis.Command("ZREM", key, token)
	released := reply == int64(1)
	return &released, err
}

func newToken() string {
	bytes := make([]byte, 20)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return hex.EncodeToString(bytes)
}

func main() {
	ServeClients(makeLock, "my-rwlock", "0.1.0")
}
