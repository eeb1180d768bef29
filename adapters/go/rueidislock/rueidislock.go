// Picklock adapter for rueidislock, on the first node. The library renews leases itself.
//
// Options: `setpx=true` takes leases in milliseconds (the library's FallbackSETPX) instead of as a time of the client's
// clock. `no_loop=false` is the library's default of NoLoopTracking; the first example of its README sets it for Redis
// 7.0.5 and later, and so does the adapter.

package main

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

type rueidisLock struct {
	mutex    sync.Mutex
	settings rueidislock.LockerOption
	lockers  map[time.Duration]rueidislock.Locker
	grants   atomic.Int64
	cancels  Objects[func()]
}

func makeLock(nodes []string, timeout time.Duration, options map[string]string) (Lock, error) {
	node, err := url.Parse(nodes[0])
	if err != nil {
		return nil, Definite{err.Error()}
	}
	client := rueidis.ClientOption{InitAddress: []string{node.Host}, ConnWriteTimeout: timeout, DisableRetry: true}
	client.Dialer.Timeout = timeout
	settings := rueidislock.LockerOption{ClientOption: client, KeyMajority: 1}
	settings.FallbackSETPX, settings.NoLoopTracking = options["setpx"] == "true", options["no_loop"] != "false"
	return &rueidisLock{settings: settings, lockers: map[time.Duration]rueidislock.Locker{}}, nil
}

// The lease is a setting of the locker.
func (l *rueidisLock) locker(ttl time.Duration) (rueidislock.Locker, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.lockers[ttl] == nil {
		l.settings.KeyValidity = ttl
		locker, err := rueidislock.NewLocker(l.settings)
		if err != nil {
			return nil, err
		}
		l.lockers[ttl] = locker
	}
	return l.lockers[ttl], nil
}

func (l *rueidisLock) Acquire(key string, ttl, wait time.Duration) (*Grant, error) {
	locker, err := l.locker(ttl)
	if err != nil {
		return nil, err
	}
	// One context for the wait and for the lock: only the wait may end it.
	ctx, giveUp := context.WithCancel(context.Background())
	patience, take := wait, locker.WithContext
	if wait == 0 {
		patience, take = ttl, locker.TryWithContext
	}
	waiting := time.AfterFunc(patience, giveUp)
	held, cancel, err := take(ctx, key)
	inTime := waiting.Stop()
	if err == nil && inTime {
		return l.grant(held, cancel), nil
	}
	if err == nil {
		cancel()
	}
	if errors.Is(err, rueidislock.ErrNotLocked) || !inTime {
		return nil, nil
	}
	return nil, err
}

func (l *rueidisLock) grant(held context.Context, cancel context.CancelFunc) *Grant {
	token := strconv.FormatInt(l.grants.Add(1), 10)
	ignoreEnd := context.AfterFunc(held, func() { Lost(token) })
	return l.cancels.Keep(token, func() { ignoreEnd(); cancel() })
}

// The library releases the lock in the background and reports no result.
func (l *rueidisLock) Release(key, token string) (*bool, error) {
	return l.cancels.Release(token, func(cancel func()) (*bool, error) { cancel(); return nil, nil })
}

func main() {
	ServeClients(makeLock, "rueidislock", VersionOf("github.com/redis/rueidis"), "setpx", "no_loop")
}
