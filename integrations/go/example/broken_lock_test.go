package example

import (
	"context"
	"testing"
	"time"

	picklock "github.com/OWNER/picklock/integrations/go"
)

// brokenLock is the same lock, which deletes the key without comparing the token.
type brokenLock struct{ myLock }

func (l brokenLock) Release(ctx context.Context, key, token string) (bool, error) {
	deleted, err := l.redis.Del(ctx, key).Result()
	return deleted == 1, err
}

func TestBrokenLock(t *testing.T) {
	picklock.Test(t, func(nodes []string, timeout time.Duration) (picklock.Lock, error) {
		lock, err := newMyLock(nodes, timeout)
		return picklock.Trying(brokenLock{lock}), err
	}, picklock.Quick())
}
