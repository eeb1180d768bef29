// Picklock adapter for bsm/redislock on go-redis 9, on the first node.

package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

type redislockLock struct {
	client *redislock.Client
	locks  Objects[*redislock.Lock]
}

func makeLock(nodes []string, timeout time.Duration, options map[string]string) (Lock, error) {
	settings, err := redis.ParseURL(nodes[0])
	if err != nil {
		return nil, Definite{err.Error()}
	}
	settings.DialTimeout, settings.ReadTimeout, settings.MaxRetries = timeout, timeout, -1
	return &redislockLock{client: redislock.New(redis.NewClient(settings))}, nil
}

const pause = 50 * time.Millisecond

func (l *redislockLock) Acquire(key string, ttl, wait time.Duration) (*Grant, error) {
	// Without this deadline the library gives up after one lease.
	ctx, cancel := context.WithTimeout(context.Background(), wait+ttl)
	defer cancel()
	retry := redislock.LimitRetry(redislock.LinearBackoff(pause), int(wait/pause))
	lock, err := l.client.Obtain(ctx, key, ttl, &redislock.Options{RetryStrategy: retry})
	if err != nil {
		return nil, unless(err, redislock.ErrNotObtained)
	}
	return l.locks.Keep(lock.Token(), lock), nil
}

func (l *redislockLock) Extend(key, token string, ttl time.Duration) (*Grant, error) {
	lock, err := l.locks.Of(token)
	if err != nil {
		return nil, err
	}
	askedAt := time.Now()
	if err := lock.Refresh(context.Background(), ttl, nil); err != nil {
		return nil, unless(err, redislock.ErrNotObtained)
	}
	return &Grant{Token: token, AskedAt: askedAt}, nil
}

func (l *redislockLock) Release(key, token string) (*bool, error) {
	return l.locks.Release(token, func(lock *redislock.Lock) (*bool, error) {
		err := lock.Release(context.Background())
		return Said(err == nil), unless(err, redislock.ErrLockNotHeld)
	})
}

func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

func main() {
	ServeClients(makeLock, "redislock", VersionOf("github.com/bsm/redislock"))
}
