// Picklock adapter for your lock. The example takes a lock on the first node with SET NX PX, and compares the token
// before it deletes or extends the key.

package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"
)

// With go-redis:  redis.NewClient(&redis.Options{Addr: HOST:PORT, ReadTimeout: timeout,
//     MaxRetries: -1}), and client.SetNX(ctx, key, token, ttl) to acquire.

// A lock that renews in the background calls Extended(token, ttl, askedAt) after each renewal, and Lost(token) before
// its lease ends unrenewed. It needs `renews = true` in picklock.toml.

const ifMine = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return "

type myLock struct{ redis *RespClient }

func makeLock(nodes []string, timeout time.Duration, options map[string]string) (Lock, error) {
	redis, err := NewRespClient(nodes[0], timeout)
	return &myLock{redis}, err
}

func (l *myLock) Acquire(key string, ttl, wait time.Duration) (*Grant, error) {
	return l.AcquireContext(context.Background(), key, ttl, wait)
}

func (l *myLock) AcquireContext(ctx context.Context, key string, ttl, wait time.Duration) (*Grant, error) {
	token := newToken()
	return TryForContext(ctx, wait, func() (*Grant, error) {
		return grantIf("OK", token)(l.redis.Command("SET", key, token, "NX", "PX", ttl.Milliseconds()))
	})
}

func (l *myLock) Extend(key, token string, ttl time.Duration) (*Grant, error) {
	script := ifMine + "redis.call('PEXPIRE', KEYS[1], ARGV[2])"
	return TryFor(0, func() (*Grant, error) {
		return grantIf(int64(1), token)(l.redis.Command("EVAL", script, 1, key, token, ttl.Milliseconds()))
	})
}

func (l *myLock) Release(key, token string) (*bool, error) {
	reply, err := l.redis.Command("EVAL", ifMine+"redis.call('DEL', KEYS[1])", 1, key, token)
	released := reply == int64(1)
	return &released, err
}

// grantIf converts the reply that means success to a grant, and any other reply to nil.
func grantIf(success any, token string) func(any, error) (*Grant, error) {
	return func(reply any, err error) (*Grant, error) {
		if err != nil || reply != success {
			return nil, err
		}
		return &Grant{Token: token}, nil
	}
}

func newToken() string {
	bytes := make([]byte, 20)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return hex.EncodeToString(bytes)
}

func main() {
	ServeClients(makeLock, "my-lock", "0.1.0")
}
