// Picklock adapter for redsync on go-redis 9, on all given nodes.
//
// Options: `timeouts=default` keeps go-redis' own timeouts (3 s for an answer) and those of the library's contexts;
// `context_timeouts=true` lets the latter end go-redis' waiting (ContextTimeoutEnabled).

package main

import (
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"
)

type redsyncLock struct {
	redsync *redsync.Redsync
	mutexes Objects[*redsync.Mutex]
}

func makeLock(nodes []string, timeout time.Duration, options map[string]string) (Lock, error) {
	var pools []redis.Pool
	for _, node := range nodes {
		settings, err := goredislib.ParseURL(node)
		if err != nil {
			return nil, Definite{err.Error()}
		}
		settings.MaxRetries = -1
		if options["timeouts"] != "default" {
			settings.DialTimeout, settings.ReadTimeout = timeout, timeout
		}
		settings.ContextTimeoutEnabled = options["context_timeouts"] == "true"
		pools = append(pools, goredis.NewPool(goredislib.NewClient(settings)))
	}
	return &redsyncLock{redsync: redsync.New(pools...)}, nil
}

// The library waits for 50 to 250 ms between two attempts.
func (l *redsyncLock) Acquire(key string, ttl, wait time.Duration) (*Grant, error) {
	tries := redsync.WithTries(int(wait/(250*time.Millisecond)) + 1)
	mutex := l.redsync.NewMutex(key, redsync.WithExpiry(ttl), tries)
	if err := mutex.Lock(); err != nil {
		return nil, unlessTaken(err)
	}
	grant := l.mutexes.Keep(mutex.Value(), mutex)
	grant.AskedAt = mutex.Until().Add(-ttl)
	return grant, nil
}

func (l *redsyncLock) Extend(key, token string, ttl time.Duration) (*Grant, error) {
	mutex, err := l.mutexes.Of(token)
	if err != nil {
		return nil, err
	}
	if extended, err := mutex.Extend(); !extended {
		return nil, unlessTaken(err)
	}
	return &Grant{Token: token, AskedAt: mutex.Until().Add(-ttl)}, nil
}

func (l *redsyncLock) Release(key, token string) (*bool, error) {
	return l.mutexes.Release(token, func(mutex *redsync.Mutex) (*bool, error) {
		released, err := mutex.Unlock()
		return Said(released), unlessTaken(err)
	})
}

// unlessTaken returns nil if the library reports that the lock is taken or expired. It does not if a node returned an
// error: the library joins the errors of all nodes, and such a node may still hold the lock.
func unlessTaken(err error) error {
	var unanswered *redsync.RedisError
	if errors.As(err, &unanswered) {
		return err
	}
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) || errors.Is(err, redsync.ErrLockAlreadyExpired) {
		return nil
	}
	return err
}

func main() {
	ServeClients(makeLock, "redsync", VersionOf("github.com/go-redsync/redsync/v4"), "timeouts", "context_timeouts")
}
