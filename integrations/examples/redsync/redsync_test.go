// Package example tests the mutex of redsync 4.18.1 on five nodes. The findings are those of lab/pages/findings.md.
package example

import (
	"errors"
	"testing"
	"time"

	picklock "github.com/OWNER/picklock/integrations/go"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"
)

type redsyncLock struct {
	redsync *redsync.Redsync
	mutexes picklock.Objects[*redsync.Mutex]
}

func newRedsync(nodes []string, timeout time.Duration) (picklock.Lock, error) {
	var pools []redis.Pool
	for _, node := range nodes {
		settings, err := goredislib.ParseURL(node)
		if err != nil {
			return nil, err
		}
		settings.MaxRetries, settings.DialTimeout, settings.ReadTimeout = -1, timeout, timeout
		pools = append(pools, goredis.NewPool(goredislib.NewClient(settings)))
	}
	return &redsyncLock{redsync: redsync.New(pools...)}, nil
}

// Acquire tries as often as fits into the wait: the library waits for 50 to 250 ms between two attempts.
func (l *redsyncLock) Acquire(key string, ttl, wait time.Duration) (*picklock.Grant, error) {
	tries := redsync.WithTries(int(wait/(250*time.Millisecond)) + 1)
	mutex := l.redsync.NewMutex(key, redsync.WithExpiry(ttl), tries)
	if err := mutex.Lock(); err != nil {
		return nil, unlessTaken(err)
	}
	grant := l.mutexes.Keep(mutex.Value(), mutex)
	grant.AskedAt = mutex.Until().Add(-ttl)
	return grant, nil
}

func (l *redsyncLock) Release(key, token string) (*bool, error) {
	return l.mutexes.Release(token, func(mutex *redsync.Mutex) (*bool, error) {
		released, err := mutex.Unlock()
		return &released, unlessTaken(err)
	})
}

// unlessTaken returns nil if the lock is taken or expired. An error of a node is an error, because that node may still
// hold the lock.
func unlessTaken(err error) error {
	var unanswered *redsync.RedisError
	var taken *redsync.ErrTaken
	isTaken := errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) || errors.Is(err, redsync.ErrLockAlreadyExpired)
	if isTaken && !errors.As(err, &unanswered) {
		return nil
	}
	return err
}

func TestRedsync(t *testing.T) {
	picklock.Test(t, newRedsync, picklock.Nodes(5), picklock.Scenarios("calm", "late-grant", "stale-delete", "eviction"))
}

func TestFrozenHolderOutlivesItsLease(t *testing.T) {
	found := map[string]string{"exclusion": "violated", "lease": "held"}
	picklock.Test(t, newRedsync, picklock.Nodes(5), picklock.Scenarios("gc-pause"), picklock.Expect(found))
}
