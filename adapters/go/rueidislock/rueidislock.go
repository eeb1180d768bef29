// Picklock adapter for rueidislock, on the first node. The library renews leases itself.
//
// Option: `setpx=true` passes leases in milliseconds (the library's FallbackSETPX) instead of as a time of the client's
// clock.

package main

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

type rueidisLock struct {
	settings rueidislock.LockerOption
	lockers  map[time.Duration]rueidislock.Locker
	grants   int
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
	settings.FallbackSETPX = options["setpx"] == "true"
	return &rueidisLock{settings: settings, lockers: map[time.Duration]rueidislock.Locker{}}, nil
}

func (l *rueidisLock) Acquire(key string, ttl, wait time.Duration) (*Grant, error) {
	// The lease is a setting of the locker.
	locker, made := l.lockers[ttl]
	if !made {
		l.settings.KeyValidity = ttl
		var err error
		if locker, err = rueidislock.NewLocker(l.settings); err != nil {
			return nil, err
		}
		l.lockers[ttl] = locker
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
	switch {
	case err == nil && inTime:
		return l.grant(held, cancel), nil
	case err == nil:
		cancel()
		return nil, nil
	case errors.Is(err, rueidislock.ErrNotLocked) || !inTime:
		return nil, nil
	}
	return nil, err
}

func (l *rueidisLock) grant(held context.Context, cancel context.CancelFunc) *Grant {
	l.grants++
	token := strconv.Itoa(l.grants)
	var released atomic.Bool
	context.AfterFunc(held, func() {
		if !released.Load() {
			Lost(token)
		}
	})
	return l.cancels.Keep(token, func() { released.Store(true); cancel() })
}

// The library releases the lock in the background and reports no result.
func (l *rueidisLock) Release(key, token string) (*bool, error) {
	return l.cancels.Release(token, func(cancel func()) (*bool, error) { cancel(); return nil, nil })
}

func main() {
	Serve(makeLock, "rueidislock", VersionOf("github.com/redis/rueidis"), "setpx")
}
