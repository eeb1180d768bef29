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

type lock struct{ redis *redis.Client }

func (l lock) TryAcquire(ctx context.Context, key string, ttl time.Duration) (string, error) {
	random := make([]byte, 20)
	rand.Read(random)
	token := hex.EncodeToString(random)
	taken, err := l.redis.SetNX(ctx, key, token, ttl).Result()
	if !taken {
		token = ""
	}
	return token, err
}

type myLock struct{ lock }

func (l myLock) Release(ctx context.Context, key, token string) (bool, error) {
	deleted, err := l.redis.Eval(ctx, deleteIfMine, []string{key}, token).Int()
	return deleted == 1, err
}

// brokenLock deletes the key without comparing the token.
type brokenLock struct{ lock }

func (l brokenLock) Release(ctx context.Context, key, token string) (bool, error) {
	deleted, err := l.redis.Del(ctx, key).Result()
	return deleted == 1, err
}

func connect(nodes []string, timeout time.Duration) (lock, error) {
	options, err := redis.ParseURL(nodes[0])
	if err != nil {
		return lock{}, err
	}
	options.ReadTimeout, options.MaxRetries = timeout, -1
	return lock{redis.NewClient(options)}, nil
}

func TestMyLock(t *testing.T) {
	picklock.Test(t, func(nodes []string, timeout time.Duration) (picklock.Lock, error) {
		lock, err := connect(nodes, timeout)
		return picklock.Trying(myLock{lock}), err
	}, picklock.Quick())
}

func TestBrokenLock(t *testing.T) {
	picklock.Test(t, func(nodes []string, timeout time.Duration) (picklock.Lock, error) {
		lock, err := connect(nodes, timeout)
		return picklock.Trying(brokenLock{lock}), err
	}, picklock.Quick())
}
