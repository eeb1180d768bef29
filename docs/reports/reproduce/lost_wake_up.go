// go mod init report; go get github.com/redis/rueidis@v1.0.79; go run .   (a Redis server on 127.0.0.1:6379)
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

func take(noLoop bool, next time.Duration) {
	client := rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}}
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: client, KeyMajority: 1, NoLoopTracking: noLoop, TryNextAfter: next})
	if err != nil {
		panic(err)
	}
	other, err := rueidis.NewClient(client)
	if err != nil {
		panic(err)
	}
	// No command is answered for 100 ms. Nobody else wants the lock.
	other.Do(context.Background(), other.B().ClientPause().Timeout(100).All().Build())
	limit, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	began := time.Now()
	_, release, err := locker.WithContext(limit, "report")
	fmt.Println("NoLoopTracking", noLoop, "TryNextAfter", next, "after", time.Since(began), "error:", err)
	if err == nil {
		release()
	}
}

func main() {
	take(true, 20*time.Millisecond)
	take(false, 20*time.Millisecond)
	take(true, 300*time.Millisecond)
}
