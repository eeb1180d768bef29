package example

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"testing"
	"time"

	picklock "github.com/OWNER/picklock/integrations/go"
	"github.com/redis/go-redis/v9"
)

const deleteIfMine = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0"

// Put your own lock in place of this one.
type myLock struct{ redis *redis.Client }

func newMyLock(nodes []string, timeout time.Duration) (myLock, error) {
	options, err := redis.ParseURL(nodes[0])
	if err != nil {
		return myLock{}, err
	}
	options.ReadTimeout, options.MaxRetries = timeout, -1
	return myLock{redis.NewClient(options)}, nil
}

func (l myLock) TryAcquire(ctx context.Context, key string, ttl time.Duration) (string, error) {
	random := make([]byte, 20)
	rand.Read(random)
	token := hex.EncodeToString(random)
	taken, err := l.redis.SetNX(ctx, key, token, ttl).Result()
	if !taken {
		token = ""
	}
	return token, err
}

func (l myLock) Release(ctx context.Context, key, token string) (bool, error) {
	deleted, err := l.redis.Eval(ctx, deleteIfMine, []string{key}, token).Int()
	return deleted == 1, err
}

func TestMyLock(t *testing.T) {
	picklock.Test(t, func(nodes []string, timeout time.Duration) (picklock.Lock, error) {
		lock, err := newMyLock(nodes, timeout)
		return picklock.Trying(lock), err
	}, picklock.Quick())
}
