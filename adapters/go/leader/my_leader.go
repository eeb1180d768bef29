// Picklock adapter for your leader election. The example takes a key on the first node with SET NX PX, counts the epochs
// next to it, renews the key in a goroutine, and checks whose key it is before each act.

package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"
)

const lead = `
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
return redis.call('INCR', KEYS[2])`

const ifMine = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return "

type myLeader struct {
	redis *RespClient
	// Term of each leader, by the token of its grant.
	terms sync.Map
}

type term struct {
	epoch uint64
	// Closed when the leader resigns.
	resigned chan struct{}
	resign   sync.Once
}

func makeLock(nodes []string, timeout time.Duration, options map[string]string) (Lock, error) {
	redis, err := NewRespClient(nodes[0], timeout)
	return &myLeader{redis: redis}, err
}

func (l *myLeader) Acquire(key string, ttl, wait time.Duration) (*Grant, error) {
	return l.AcquireContext(context.Background(), key, ttl, wait)
}

func (l *myLeader) AcquireContext(ctx context.Context, key string, ttl, wait time.Duration) (*Grant, error) {
	token := newToken()
	grant, err := TryForContext(ctx, wait, func() (*Grant, error) {
		reply, err := l.redis.Command("EVAL", lead, 2, key, key+":epoch", token, ttl.Milliseconds())
		count, _ := reply.(int64)
		if err != nil || count == 0 {
			return nil, err
		}
		epoch := uint64(count)
		return &Grant{Token: token, Fence: &epoch}, nil
	})
	if grant != nil {
		its := &term{epoch: *grant.Fence, resigned: make(chan struct{})}
		l.terms.Store(token, its)
		go l.renew(its, key, token, ttl, grant.AskedAt)
	}
	return grant, err
}

// Returns the epoch if the client may act now, or nil if it does not lead any more.
func (l *myLeader) Act(key, token string) (*Acting, error) {
	holder, err := l.redis.Command("GET", key)
	its, known := l.terms.Load(token)
	if err != nil || !known || holder != token {
		return nil, err
	}
	return &Acting{Epoch: &its.(*term).epoch}, nil
}

func (l *myLeader) Release(key, token string) (*bool, error) {
	if its, known := l.terms.Load(token); known {
		its.(*term).resign.Do(func() { close(its.(*term).resigned) })
	}
	reply, err := l.redis.Command("EVAL", ifMine+"redis.call('DEL', KEYS[1])", 1, key, token)
	released := reply == int64(1)
	return &released, err
}

func (l *myLeader) renew(its *term, key, token string, ttl time.Duration, renewedAt time.Time) {
	script := ifMine + "redis.call('PEXPIRE', KEYS[1], ARGV[2])"
	pause := ttl / 3
	for {
		select {
		case <-its.resigned:
			return
		case <-time.After(pause):
		}
		askedAt := time.Now()
		reply, err := l.redis.Command("EVAL", script, 1, key, token, ttl.Milliseconds())
		isMine := reply == int64(1)
		pause = ttl / 3
		if err != nil {
			// The next attempt may still come in time.
			isMine, pause = time.Since(renewedAt) < ttl*4/5, ttl/20
		}
		select {
		case <-its.resigned:
			return
		default:
		}
		if !isMine {
			Lost(token)
			return
		}
		if err == nil {
			renewedAt = askedAt
			Extended(token, ttl, askedAt)
		}
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
	ServeClients(makeLock, "my-leader", "0.1.0")
}
