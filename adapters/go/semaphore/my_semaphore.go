// Picklock adapter for your semaphore. The example keeps its permits in a sorted set on the first node: the holders, by
// the ends of their leases on the server's clock.

package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

const take = `
local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) + ARGV[4] > tonumber(ARGV[3]) then return 0 end
for permit = 1, ARGV[4] do redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1] .. ':' .. permit) end
if redis.call('PTTL', KEYS[1]) < ARGV[2] * 2 then redis.call('PEXPIRE', KEYS[1], ARGV[2] * 2) end
return 1`

type mySemaphore struct {
	redis    *RespClient
	capacity int
	// Number of permits of each grant, by its token.
	permitsOf sync.Map
}

func makeLock(nodes []string, timeout time.Duration, options map[string]string) (Lock, error) {
	redis, err := NewRespClient(nodes[0], timeout)
	return &mySemaphore{redis: redis}, err
}

func (l *mySemaphore) SetCapacity(permits int) { l.capacity = permits }

func (l *mySemaphore) Acquire(key string, ttl, wait time.Duration) (*Grant, error) {
	return l.AcquireContext(context.Background(), key, ttl, wait)
}

func (l *mySemaphore) AcquireContext(ctx context.Context, key string, ttl, wait time.Duration) (*Grant, error) {
	return l.AcquirePermits(ctx, key, 1, ttl, wait)
}

// Remove this method if an acquisition of your semaphore takes one permit.
func (l *mySemaphore) AcquirePermits(
	ctx context.Context, key string, permits int, ttl, wait time.Duration,
) (*Grant, error) {
	if permits < 1 || permits > l.capacity {
		return nil, Definite{fmt.Sprintf("%d permits were requested, and there are %d", permits, l.capacity)}
	}
	token := newToken()
	l.permitsOf.Store(token, permits)
	return TryForContext(ctx, wait, func() (*Grant, error) {
		reply, err := l.redis.Command("EVAL", take, 1, key, token, ttl.Milliseconds(), l.capacity, permits)
		if err != nil || reply != int64(1) {
			return nil, err
		}
		return &Grant{Token: token}, nil
	})
}

func (l *mySemaphore) Release(key, token string) (*bool, error) {
	known, _ := l.permitsOf.Load(token)
	permits, _ := known.(int)
	command := []any{"ZREM", key}
	for permit := 1; permit <= permits; permit++ {
		command = append(command, fmt.Sprintf("%s:%d", token, permit))
	}
	reply, err := l.redis.Command(command...)
	released := reply == int64(permits)
	return &released, err
}

// If your code releases in a defer even after a refusal, say what happens then (scenario permits-finally-unlock):
// func (l *mySemaphore) ReleaseUnheld(key string) (*bool, error) { released := false; return &released, nil }

func newToken() string {
	bytes := make([]byte, 20)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return hex.EncodeToString(bytes)
}

func main() {
	ServeClients(makeLock, "my-semaphore", "0.1.0")
}
