// Picklock adapter for a hand-written lock on go-redis 9: SET NX PX on the first node, and a script that compares the
// token before it deletes.
//
// Options: `release=del` deletes without comparing; `retries` is the number of times that go-redis resends a command
// (its default is 3; here 0).

package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var compareAndDelete = redis.NewScript("if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return redis.call('DEL', KEYS[1])")

type goRedisLock struct {
	client  *redis.Client
	release string
}

func makeLock(nodes []string, timeout time.Duration, options map[string]string) (Lock, error) {
	settings, err := redis.ParseURL(nodes[0])
	if err != nil {
		return nil, Definite{err.Error()}
	}
	settings.DialTimeout, settings.ReadTimeout, settings.MaxRetries = timeout, timeout, -1
	if retries, given := strconv.Atoi(options["retries"]); given == nil && retries > 0 {
		settings.MaxRetries = retries
	}
	return &goRedisLock{redis.NewClient(settings), options["release"]}, nil
}

func (l *goRedisLock) Acquire(key string, ttl, wait time.Duration) (*Grant, error) {
	bytes := make([]byte, 20)
	if _, err := rand.Read(bytes); err != nil {
		return nil, err
	}
	token := hex.EncodeToString(bytes)
	return TryFor(wait, func() (*Grant, error) {
		taken, err := l.client.SetNX(context.Background(), key, token, ttl).Result()
		if !taken {
			return nil, err
		}
		return &Grant{Token: token}, err
	})
}

func (l *goRedisLock) Release(key, token string) (*bool, error) {
	if l.release == "del" {
		return nil, l.client.Del(context.Background(), key).Err()
	}
	deleted, err := compareAndDelete.Run(context.Background(), l.client, []string{key}, token).Int()
	return Said(deleted == 1), err
}

func main() {
	ServeClients(makeLock, "go-redis", VersionOf("github.com/redis/go-redis/v9"), "release", "retries")
}
