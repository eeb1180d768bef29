package picklock

import (
	"context"
	"time"
)

// TryLock is a lock that does not wait. TryAcquire returns an empty token if another client has the lock. Release
// returns false if the lock was no longer held.
type TryLock interface {
	TryAcquire(ctx context.Context, key string, ttl time.Duration) (token string, err error)
	Release(ctx context.Context, key, token string) (released bool, err error)
}

// TryExtender is a TryLock that can be extended. TryExtend returns false if the lock was no longer held.
type TryExtender interface {
	TryLock
	TryExtend(ctx context.Context, key, token string, ttl time.Duration) (extended bool, err error)
}

// Trying returns a Lock that repeats TryAcquire until it succeeds, the wait is over, or the client gives up.
func Trying(lock TryLock) Lock {
	if extender, can := lock.(TryExtender); can {
		return extendable{trying{lock}, extender}
	}
	return trying{lock}
}

type trying struct{ lock TryLock }

func (t trying) Acquire(key string, ttl, wait time.Duration) (*Grant, error) {
	return t.AcquireContext(context.Background(), key, ttl, wait)
}

func (t trying) AcquireContext(ctx context.Context, key string, ttl, wait time.Duration) (*Grant, error) {
	return TryForContext(ctx, wait, func() (*Grant, error) {
		// A command in flight is not cut off, because the lock may have been taken.
		token, err := t.lock.TryAcquire(context.Background(), key, ttl)
		if err != nil || token == "" {
			return nil, err
		}
		return &Grant{Token: token}, nil
	})
}

func (t trying) Release(key, token string) (*bool, error) {
	released, err := t.lock.Release(context.Background(), key, token)
	return &released, err
}

type extendable struct {
	trying
	extender TryExtender
}

func (e extendable) Extend(key, token string, ttl time.Duration) (*Grant, error) {
	askedAt := time.Now()
	extended, err := e.extender.TryExtend(context.Background(), key, token, ttl)
	if err != nil || !extended {
		return nil, err
	}
	return &Grant{Token: token, AskedAt: askedAt}, nil
}
