// Package picklock tests a distributed lock on Redis from go test: it runs clients that compete for the lock, freezes
// the holder, loses a reply, kills a process, and reports whose fault it was.
package picklock

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Version of this package, and of the engine that it needs.
const Version = "0.1.0"

// Argument of a worker process. The next one is the test, and the number of its call of Test.
const workerArgument = "picklock-worker"

// Time before the deadline of go test at which a run is ended, so that the engine can stop its servers.
const margin = 10 * time.Second

// NewLock creates the lock under test in a worker process. The nodes are URLs such as redis://HOST:PORT, and timeout is
// the limit for a command.
type NewLock func(nodes []string, timeout time.Duration) (Lock, error)

// Option is a setting of Test.
type Option func(*settings)

type settings struct {
	selection   []string
	kind        string
	reference   string
	expect      map[string]string
	backend     string
	seed        int
	nodes       int
	ttl         string
	out         string
	skipUnknown bool
	parallel    bool
	ctx         context.Context
}

// Quick selects the most revealing scenarios for the reference lock. It is the default.
func Quick() Option { return func(s *settings) { s.selection = []string{"--profile", "quick"} } }

// Scenarios selects scenarios by name, by a pattern such as late-*, or by the path of a file.
func Scenarios(names ...string) Option {
	return func(s *settings) { s.selection = []string{"--scenario", strings.Join(names, ",")} }
}

// Kind is what the lock is: mutex, semaphore, rwlock or leader. The default is mutex. The lock implements Semaphore,
// ReadWriteLock or LeaderElection.
func Kind(name string) Option { return func(s *settings) { s.kind = name } }

// Reference names the built-in lock whose properties the lock must keep. The default is set-nx-px, redlock for a lock on
// several nodes, and semaphore, rwlock or leader for a lock of that kind.
func Reference(lock string) Option { return func(s *settings) { s.reference = lock } }

// Expect requires statuses in place of a reference: Expect(map[string]string{"lease": "held"}).
func Expect(statuses map[string]string) Option { return func(s *settings) { s.expect = statuses } }

// Backend chooses where Redis runs: auto, process, docker or external.
func Backend(name string) Option { return func(s *settings) { s.backend = name } }

// Seed is the seed of each run.
func Seed(seed int) Option { return func(s *settings) { s.seed = seed } }

// Nodes is the number of servers that the lock uses.
func Nodes(number int) Option { return func(s *settings) { s.nodes = number } }

// TTL is the lease time, such as 2s. Its default is the scenario's.
func TTL(ttl time.Duration) Option {
	return func(s *settings) { s.ttl = fmt.Sprintf("%dms", ttl.Milliseconds()) }
}

// Out is the directory of the failed runs. The default is .picklock in the package's directory.
func Out(directory string) Option { return func(s *settings) { s.out = directory } }

// SkipUnknown skips an inconclusive run. By default it fails.
func SkipUnknown() Option { return func(s *settings) { s.skipUnknown = true } }

// Parallel runs the scenarios side by side, as far as go test allows.
func Parallel() Option { return func(s *settings) { s.parallel = true } }

// Context ends the run when ctx is done.
func Context(ctx context.Context) Option { return func(s *settings) { s.ctx = ctx } }

// Test runs the lock through scenarios, with one subtest for each. A worker process is this test binary, started again
// with this test only, and its call of Test serves the lock. Statements of the test before that call run there, too.
func Test(t *testing.T, newLock NewLock, options ...Option) {
	t.Helper()
	s := settings{backend: "auto", kind: "mutex", seed: 1, nodes: 1, out: ".picklock", ctx: context.Background()}
	Quick()(&s)
	for _, option := range options {
		option(&s)
	}
	call := nextCall(t.Name())
	if worker := servedCall(); worker == call {
		makeLock := func(nodes []string, timeout time.Duration, _ map[string]string) (Lock, error) {
			return newLock(nodes, timeout)
		}
		ServeClients(makeLock, lockName(t.Name()), "")
		os.Exit(0)
	} else if worker != "" {
		return
	}
	suited := s.reference
	if suited == "" {
		suited = standard(s.kind, s.nodes)
	}
	if s.expect == nil {
		s.reference = suited
	}
	ctx, cancel := withDeadline(t, s.ctx)
	// Parallel subtests run after this function has returned.
	t.Cleanup(cancel)
	names, err := plan(ctx, suited, s.selection)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		r := run{settings: s, call: call, test: t.Name(), scenario: name}
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Helper()
			if r.parallel {
				t.Parallel()
			}
			r.test = strings.TrimSuffix(t.Name(), "/"+filepath.Base(r.scenario))
			r.report(ctx, t)
		})
	}
}

// standard returns the built-in lock that a lock of this kind is compared with by default.
func standard(kind string, nodes int) string {
	switch {
	case kind != "mutex":
		return kind
	case nodes == 1:
		return "set-nx-px"
	}
	return "redlock"
}

func withDeadline(t *testing.T, ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, has := t.Deadline(); has {
		return context.WithDeadline(ctx, deadline.Add(-margin))
	}
	return context.WithCancel(ctx)
}

func (r run) report(ctx context.Context, t *testing.T) {
	t.Helper()
	outcome, text := r.execute(ctx)
	switch {
	case outcome == held:
		if text != "" {
			t.Log(text)
		}
	case outcome == notApplicable, outcome == unknown && r.skipUnknown:
		t.Skip(text)
	default:
		t.Fatal(text)
	}
}

var (
	calls      = map[string]int{}
	callsMutex sync.Mutex
)

// nextCall returns the name of this call of Test. It is the same in a worker, which runs the same statements.
func nextCall(test string) string {
	callsMutex.Lock()
	defer callsMutex.Unlock()
	calls[test]++
	return fmt.Sprintf("%s %d", test, calls[test])
}

// servedCall returns the call of Test that this worker process serves. It is empty in the process of the tests.
func servedCall() string {
	if last := len(os.Args) - 2; last > 0 && os.Args[last] == workerArgument {
		return os.Args[last+1]
	}
	return ""
}

func lockName(test string) string {
	return safe(strings.TrimPrefix(strings.ReplaceAll(test, "/", "-"), "Test"))
}
