package picklock

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// chatty prints to standard output and takes the lock from its holder.
type chatty struct{ address string }

func (c chatty) command(words ...string) error {
	_, err := command(c.address, words...)
	return err
}

// command sends a command, and returns its short reply as the server writes it.
func command(address string, words ...string) (string, error) {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	fmt.Fprintf(connection, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(connection, "$%d\r\n%s\r\n", len(word), word)
	}
	reply := make([]byte, 64)
	length, err := connection.Read(reply)
	return strings.TrimSpace(string(reply[:length])), err
}

// counter is a semaphore that counts its holders.
type counter struct {
	address  string
	capacity int
}

func (c *counter) SetCapacity(permits int) { c.capacity = permits }

func (c *counter) Acquire(key string, _, wait time.Duration) (*Grant, error) {
	return TryFor(wait, func() (*Grant, error) {
		reply, err := command(c.address, "INCR", key)
		if err != nil {
			return nil, err
		}
		if count, _ := strconv.Atoi(strings.TrimPrefix(reply, ":")); count <= c.capacity {
			return &Grant{Token: fmt.Sprint(time.Now().UnixNano())}, nil
		}
		_, err = command(c.address, "DECR", key)
		return nil, err
	})
}

func (c *counter) Release(key, _ string) (*bool, error) {
	_, err := command(c.address, "DECR", key)
	return nil, err
}

// trustful is a leader election whose leader acts without a look at the key.
type trustful struct{ address string }

func (l trustful) Acquire(key string, ttl, wait time.Duration) (*Grant, error) {
	token := fmt.Sprint(time.Now().UnixNano())
	return TryFor(wait, func() (*Grant, error) {
		reply, err := command(l.address, "SET", key, token, "NX", "PX", fmt.Sprint(ttl.Milliseconds()))
		if err != nil || reply != "+OK" {
			return nil, err
		}
		return &Grant{Token: token}, nil
	})
}

func (l trustful) Act(string, string) (*Acting, error) { return &Acting{}, nil }

func (l trustful) Release(key, _ string) (*bool, error) {
	_, err := command(l.address, "DEL", key)
	return nil, err
}

func (c chatty) TryAcquire(_ context.Context, key string, ttl time.Duration) (string, error) {
	fmt.Println("a line of the library")
	token := fmt.Sprint(time.Now().UnixNano())
	return token, c.command("SET", key, token, "PX", fmt.Sprint(ttl.Milliseconds()))
}

func (c chatty) Release(_ context.Context, key, _ string) (bool, error) {
	return true, c.command("DEL", key)
}

func newChatty(nodes []string, _ time.Duration) (Lock, error) {
	node, err := url.Parse(nodes[0])
	return Trying(chatty{node.Host}), err
}

// throwing returns an error if the lock is taken, instead of waiting.
type throwing struct{ chatty }

func (c throwing) TryAcquire(_ context.Context, key string, ttl time.Duration) (string, error) {
	token := fmt.Sprint(time.Now().UnixNano())
	reply, err := command(c.address, "SET", key, token, "NX", "PX", fmt.Sprint(ttl.Milliseconds()))
	if err == nil && reply != "+OK" {
		err = fmt.Errorf("nil pointer")
	}
	return token, err
}

// execute runs one scenario as Test does, without the verdict of go test.
func execute(t *testing.T, ctx context.Context, newLock NewLock, scenario string, options ...Option) (outcome, string) {
	t.Helper()
	if servedCall() != "" {
		Test(t, newLock)
		return held, ""
	}
	s := settings{backend: "process", kind: "mutex", seed: 1, nodes: 1, out: t.TempDir(), reference: "set-nx-px"}
	for _, option := range options {
		option(&s)
	}
	return run{settings: s, call: t.Name() + " 1", test: t.Name(), scenario: scenario}.execute(ctx)
}

func TestViolationExplainsItself(t *testing.T) {
	outcome, text := execute(t, context.Background(), newChatty, "calm")
	if outcome != violated {
		t.Fatal(outcome, text)
	}
	for _, part := range []string{"The lock's fault:", "Remedy: ", "a line of the library", "saved run",
		"The reference lock set-nx-px would keep: exclusion"} {
		if !strings.Contains(text, part) {
			t.Errorf("no `%s` in %s", part, text)
		}
	}
	page := regexp.MustCompile(`file://(\S+)`).FindStringSubmatch(text)[1]
	if _, err := os.Stat(page); err != nil {
		t.Error(err)
	}
	line := regexp.MustCompile(`repeat +(.+)`).FindStringSubmatch(text)[1]
	// Other verdicts of this lock depend on a race, so the repetition may differ in them.
	repeated, _ := exec.Command("sh", "-c", line).CombinedOutput()
	if !regexp.MustCompile(`✘ exclusion`).Match(repeated) {
		t.Errorf("%s", repeated)
	}
}

func TestPassingLockThatThrowsWhenTakenGetsAWarning(t *testing.T) {
	newThrowing := func(nodes []string, _ time.Duration) (Lock, error) {
		node, err := url.Parse(nodes[0])
		return Trying(throwing{chatty{node.Host}}), err
	}
	outcome, text := execute(t, context.Background(), newThrowing, "calm")
	if outcome != held || !strings.Contains(text, "acquire requests failed although no fault") {
		t.Fatal(outcome, text)
	}
}

func TestExpectationAcceptsAKnownViolation(t *testing.T) {
	outcome, text := execute(t, context.Background(), newChatty, "calm", Reference(""),
		Expect(map[string]string{"exclusion": "violated"}))
	if outcome != held {
		t.Fatal(outcome, text)
	}
}

func TestSemaphoreIsComparedWithASemaphore(t *testing.T) {
	newCounter := func(nodes []string, _ time.Duration) (Lock, error) {
		node, err := url.Parse(nodes[0])
		return &counter{address: node.Host}, err
	}
	outcome, text := execute(t, context.Background(), newCounter, "permits", Kind("semaphore"), Reference("semaphore"))
	if outcome != held {
		t.Fatal(outcome, text)
	}
	if lock := standard("semaphore", 1); lock != "semaphore" {
		t.Fatal(lock)
	}
}

func TestLeaderThatDoesNotLookIsAViolation(t *testing.T) {
	newLeader := func(nodes []string, _ time.Duration) (Lock, error) {
		node, err := url.Parse(nodes[0])
		return trustful{node.Host}, err
	}
	outcome, text := execute(t, context.Background(), newLeader, "leader-pause", Kind("leader"), Reference("leader"))
	if outcome != violated || !strings.Contains(text, "The reference lock leader would keep: exclusion") {
		t.Fatal(outcome, text)
	}
}

func TestMissingFeatureIsNotApplicable(t *testing.T) {
	outcome, text := execute(t, context.Background(), newChatty, "reentrant")
	if outcome != notApplicable || !strings.HasSuffix(text, ": this package cannot test it") {
		t.Fatal(outcome, text)
	}
}

func TestFailingConstructorIsInTheError(t *testing.T) {
	failing := func([]string, time.Duration) (Lock, error) { return nil, fmt.Errorf("no such setting") }
	outcome, text := execute(t, context.Background(), failing, "calm")
	if outcome != failed || !strings.Contains(text, "no such setting") {
		t.Fatal(outcome, text)
	}
}

func TestContextEndsTheRunAndItsProcesses(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for len(workers(t)) == 0 {
			time.Sleep(50 * time.Millisecond)
		}
		cancel()
	}()
	outcome, text := execute(t, ctx, newChatty, "gc-pause")
	if outcome != failed || !strings.Contains(text, "ended by the time limit of the test, or by its context") {
		t.Fatal(outcome, text)
	}
	if left := workers(t); len(left) > 0 {
		t.Fatal(left)
	}
}

// workers returns the worker processes of this test.
func workers(t *testing.T) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		content, _ := os.ReadFile(file)
		if strings.Contains(string(content), workerArgument+"\x00"+t.Name()+" 1\x00") {
			found = append(found, file)
		}
	}
	return found
}

func TestBinaryOfAnotherVersionIsAnError(t *testing.T) {
	other := filepath.Join(t.TempDir(), "picklock")
	os.WriteFile(other, []byte("#!/bin/sh\necho picklock 9.9.9\n"), 0o755)
	t.Setenv("PICKLOCK_BINARY", other)
	if _, err := engine(); err == nil || !strings.Contains(err.Error(), "this package needs version "+Version) {
		t.Fatal(err)
	}
	t.Setenv("PICKLOCK_BINARY", "/nowhere/picklock")
	if _, err := engine(); err == nil || !strings.Contains(err.Error(), "/nowhere/picklock is not a program") {
		t.Fatal(err)
	}
}

func TestUnknownScenarioIsAnError(t *testing.T) {
	_, err := plan(context.Background(), "set-nx-px", []string{"--scenario", "no-such-scenario"})
	if err == nil || !strings.Contains(err.Error(), "no-such-scenario") {
		t.Fatal(err)
	}
}
