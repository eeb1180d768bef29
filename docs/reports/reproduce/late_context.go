// go mod init report; go get github.com/redis/rueidis@v1.0.79; go run .   (a Redis server on 127.0.0.1:6379)
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

func main() {
	client := rueidis.ClientOption{InitAddress: []string{"127.0.0.1:6379"}}
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: client, KeyMajority: 1, KeyValidity: time.Second, NoLoopTracking: true})
	if err != nil {
		panic(err)
	}
	other, err := rueidis.NewClient(client)
	if err != nil {
		panic(err)
	}
	began := time.Now()
	ctx, _, err := locker.WithContext(context.Background(), "report")
	if err != nil {
		panic(err)
	}
	// From now on no command is answered.
	other.Do(context.Background(), other.B().ClientPause().Timeout(5000).All().Build())
	<-ctx.Done()
	fmt.Println("the lease of one second began at 0 s, and the context was cancelled after", time.Since(began))
}
