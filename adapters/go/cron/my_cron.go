// Picklock adapter for your lock around a scheduled job. The example takes a lock on the first node with SET NX PX. Its
// release keeps the key for a minimum time, so that an instance whose clock is late does not run the job again.

package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"
)

// The minimum time from the request to the end of the key, longer than clocks and timers can differ.
const minHold = 600 * time.Millisecond

const ifMine = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return "

type myCronLock struct {
	redis *RespClient
	// Time of each request, by the token of its grant.
	requestedAt sync.Map
}

func makeLock(nodes []string, timeout time.Duration, options map[string]string) (Lock, error) {
	redis, err := NewRespClient(nodes[0], timeout)
	return &myCronLock{redis: redis}, err
}

func (l *myCronLock) MinHold() time.Duration { return minHold }

func (l *myCronLock) Acquire(key string, ttl, wait time.Duration) (*Grant, error) {
	return l.AcquireContext(context.Background(), key, ttl, wait)
}

func (l *myCronLock) AcquireContext(ctx context.Context, key string, ttl, wait time.Duration) (*Grant, error) {
	token := newToken()
	l.requestedAt.Store(token, time.Now())
	return TryForContext(ctx, wait, func() (*Grant, error) {
		reply, err := l.redis.Command("SET", key, token, "NX", "PX", ttl.Milliseconds())
		if err != nil || reply != "OK" {
			return nil, err
		}
		return &Grant{Token: token}, nil
	})
}

func (l *myCronLock) Release(key, token string) (*bool, error) {
	requestedAt, _ := l.requestedAt.Load(token)
	began, _ := requestedAt.(time.Time)
	left := minHold - time.Since(began)
	end := "redis.call('DEL', KEYS[1])"
	if left > 0 {
		end = "redis.call('PEXPIRE', KEYS[1], ARGV[2])"
	}
	reply, err := l.redis.Command("EVAL", ifMine+end, 1, key, token, left.Milliseconds())
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
	ServeClients(makeLock, "my-cron", "0.1.0")
}
