// Code generated from adapters/go/picklock_adapter.go by scripts/package; DO NOT EDIT.

// Picklock's adapter protocol, versions 1 and 2, for a lock in Go. Only the standard library.
//
// Serve reads requests from standard input and answers them; docs/protocol.md of Picklock describes them. Output of
// your lock or its library to os.Stdout is redirected to standard error, which goes to the worker's log.

package picklock

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Latest supported version; all earlier ones are supported, too.
const protocol = 2

// Lost reports to Picklock that a lease is lost. For locks that renew in the background.
func Lost(token string) {
	writeFor(clientOf(token), object{"event": "lost", "token": token})
}

// Extended reports to Picklock that a background task has renewed a lease for ttl, counted from askedAt.
func Extended(token string, ttl time.Duration, askedAt time.Time) {
	writeFor(clientOf(token), object{"event": "extended", "token": token, "valid_ms": leftMs(ttl, askedAt)})
}

type object map[string]any

type request struct {
	ID        *uint64           `json:"id"`
	Client    *uint64           `json:"client"`
	Op        string            `json:"op"`
	Protocol  int               `json:"protocol"`
	Protocols []int             `json:"protocols"`
	Nodes     []string          `json:"nodes"`
	TimeoutMs int64             `json:"timeout_ms"`
	Options   map[string]string `json:"options"`
	Key       string            `json:"key"`
	Token     string            `json:"token"`
	TtlMs     int64             `json:"ttl_ms"`
	WaitMs    int64             `json:"wait_ms"`
	ForMs     int64             `json:"for_ms"`
	Of        uint64            `json:"of"`
	Mode      string            `json:"mode"`
	Permits   *int              `json:"permits"`
	Capacity  *int              `json:"capacity"`

	readAt time.Time
	// Done when the client gives up.
	ctx context.Context
}

// MakeLock creates the lock. The nodes are URLs such as redis://HOST:PORT.
type MakeLock func(nodes []string, timeout time.Duration, options map[string]string) (Lock, error)

type adapter struct {
	make    MakeLock
	ready   object
	options map[string]bool
	offers  object
	lock    Lock
	// Cancel function of each unanswered acquire request.
	waits sync.Map
}

// Serve answers requests until standard input ends. The options are the names that --impl-option may
// have.
func Serve(makeLock MakeLock, name, version string, options ...string) {
	serve(makeLock, object{}, name, version, options)
}

// ServeClients is like Serve, for a lock that many clients of one process may use at once: it is created once, and each
// client calls it from its own goroutine.
func ServeClients(makeLock MakeLock, name, version string, options ...string) {
	offers := object{"clients": true, "blocks_thread": true, "ends_clients": true}
	serve(makeLock, offers, name, version, options)
}

func serve(makeLock MakeLock, offers object, name, version string, options []string) {
	output = takeStdout()
	rand.Seed(time.Now().UnixNano())
	ready := object{"reply": "ready", "name": name, "version": version}
	a := adapter{make: makeLock, ready: ready, options: map[string]bool{}, offers: offers}
	for _, option := range options {
		a.options[option] = true
	}
	clients := map[uint64]chan *request{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		r := request{readAt: time.Now(), ctx: context.Background()}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.ID == nil {
			fmt.Fprintf(os.Stderr, "not a request: %q\n", lines.Text())
			continue
		}
		if r.Op == "cancel" {
			a.endWait(r.Of)
			continue
		}
		if len(offers) == 0 || r.Op == "init" {
			a.reply(&r)
			continue
		}
		if r.Op == "acquire" {
			ctx, cancel := context.WithCancel(r.ctx)
			r.ctx = ctx
			a.waits.Store(*r.ID, cancel)
		}
		// The only client of a process has no number.
		var client uint64
		if r.Client != nil {
			client = *r.Client
		}
		requests, known := clients[client]
		if !known {
			requests = make(chan *request, 16)
			clients[client] = requests
			go a.serveClient(requests)
		}
		requests <- &r
	}
}

// endWait ends the context of an acquire request that has no answer yet. The context of an answered request is not
// ended, because a lock may renew for as long as the context lasts.
func (a *adapter) endWait(id uint64) {
	if cancel, known := a.waits.LoadAndDelete(id); known {
		cancel.(context.CancelFunc)()
	}
}

func (a *adapter) serveClient(requests chan *request) {
	for r := range requests {
		a.reply(r)
		if r.Op == "end-client" {
			return
		}
	}
}

func (a *adapter) reply(r *request) {
	answer, err := a.answer(r)
	a.waits.Delete(*r.ID)
	if err != nil {
		var definite Definite
		answer = object{"reply": "error", "message": err.Error(), "definite": errors.As(err, &definite)}
	}
	if token, is := answer["token"].(string); is && r.Client != nil {
		grants.Store(token, r.Client)
	}
	answer["id"] = *r.ID
	writeFor(r.Client, answer)
}

func (a *adapter) answer(r *request) (object, error) {
	switch r.Op {
	case "ping":
		return object{"reply": "pong"}, nil
	case "init":
		return a.init(r)
	case "join":
		return object{"reply": "joined"}, nil
	case "end-client":
		return object{"reply": "ended"}, nil
	case "block":
		time.Sleep(time.Duration(r.ForMs) * time.Millisecond)
		return object{"reply": "blocked"}, nil
	case "acquire", "extend", "release", "release-unheld", "section-failed", "act":
	default:
		return nil, Definite{fmt.Sprintf("unknown op %q", r.Op)}
	}
	if a.lock == nil {
		return nil, Definite{"`init` must come first"}
	}
	ttl := time.Duration(r.TtlMs) * time.Millisecond
	switch r.Op {
	case "release", "release-unheld", "section-failed":
		released, err := a.released(r)
		return object{"reply": "released", "released": released}, err
	case "acquire":
		grant, err := a.acquire(r, ttl, time.Duration(r.WaitMs)*time.Millisecond)
		if grant == nil && err == nil && r.ctx.Err() != nil {
			return object{"reply": "cancelled"}, nil
		}
		return granted(grant, ttl, r.readAt), err
	case "act":
		return a.act(r)
	}
	extender, can := a.lock.(Extender)
	if !can {
		return object{"reply": "unsupported"}, nil
	}
	grant, err := extender.Extend(r.Key, r.Token, ttl)
	return granted(grant, ttl, r.readAt), err
}

func (a *adapter) released(r *request) (*bool, error) {
	if lock, can := a.lock.(SectionFailer); can && r.Op == "section-failed" {
		return lock.SectionFailed(r.Key, r.Token)
	}
	if lock, can := a.lock.(UnheldReleaser); can && r.Op == "release-unheld" {
		return lock.ReleaseUnheld(r.Key)
	}
	if r.Op != "release" {
		return nil, notOffered(r.Op)
	}
	return a.lock.Release(r.Key, r.Token)
}

func notOffered(what string) Definite { return Definite{what + " is not offered"} }

func (a *adapter) act(r *request) (object, error) {
	lock, can := a.lock.(LeaderElection)
	if !can {
		return nil, notOffered("act")
	}
	acting, err := lock.Act(r.Key, r.Token)
	if acting == nil {
		return object{"reply": "refused"}, err
	}
	answer := object{"reply": "acting"}
	if acting.Epoch != nil {
		answer["epoch"] = *acting.Epoch
	}
	return answer, err
}

// acquire takes the lock or some permits of it, or lets a reader in.
func (a *adapter) acquire(r *request, ttl, wait time.Duration) (*Grant, error) {
	if r.Mode == "shared" {
		if lock, can := a.lock.(ReadWriteLock); can {
			return lock.AcquireShared(r.ctx, r.Key, ttl, wait)
		}
		return nil, notOffered("the mode `shared`")
	}
	if r.Permits != nil {
		if lock, can := a.lock.(SeveralPermits); can {
			return lock.AcquirePermits(r.ctx, r.Key, *r.Permits, ttl, wait)
		}
		return nil, notOffered("an acquisition of several permits")
	}
	if lock, can := a.lock.(Cancellable); can {
		return lock.AcquireContext(r.ctx, r.Key, ttl, wait)
	}
	return a.lock.Acquire(r.Key, ttl, wait)
}

func (a *adapter) init(r *request) (object, error) {
	latest := 0
	for _, version := range append(r.Protocols, r.Protocol) {
		if version > latest && version <= protocol {
			latest = version
		}
	}
	if latest == 0 {
		return nil, Definite{fmt.Sprintf("only versions up to %d of the protocol are supported", protocol)}
	}
	for option := range r.Options {
		if !a.options[option] {
			return nil, Definite{fmt.Sprintf("unknown option %q", option)}
		}
	}
	lock, err := a.make(r.Nodes, time.Duration(r.TimeoutMs)*time.Millisecond, r.Options)
	if err != nil {
		return nil, err
	}
	a.lock = lock
	if terminator, can := lock.(Terminator); can {
		// Registered before the reply. SIGTERM may follow at once.
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		go endAtSignal(signals, terminator)
	}
	if semaphore, can := lock.(Semaphore); can {
		capacity := 1
		if r.Capacity != nil {
			capacity = *r.Capacity
		}
		semaphore.SetCapacity(capacity)
	}
	_, a.ready["extends"] = lock.(Extender)
	if holder, can := lock.(MinHolder); can {
		a.ready["min_hold_ms"] = holder.MinHold().Milliseconds()
	}
	if exceeder, can := lock.(LeaseExceeder); can {
		a.ready["lease_margin_ms"] = exceeder.LeaseMargin().Milliseconds()
	}
	if latest == 2 {
		a.ready["protocol"] = latest
		a.addOffers(lock)
	}
	return a.ready, nil
}

func (a *adapter) addOffers(lock Lock) {
	for name, offer := range a.offers {
		a.ready[name] = offer
	}
	_, can := lock.(Cancellable)
	a.ready["cancels"] = can && len(a.offers) > 0
	_, a.ready["fails_sections"] = lock.(SectionFailer)
	_, a.ready["releases_unheld"] = lock.(UnheldReleaser)
	_, a.ready["several_permits"] = lock.(SeveralPermits)
	a.ready["kinds"] = []string{kindOf(lock)}
}

// endAtSignal ends the process after the clean-up, with the status that a shell reports for SIGTERM.
func endAtSignal(signals <-chan os.Signal, lock Terminator) {
	<-signals
	lock.Terminate()
	os.Exit(143)
}

func granted(grant *Grant, ttl time.Duration, readAt time.Time) object {
	if grant == nil {
		return object{"reply": "refused"}
	}
	answer := object{"reply": "granted", "token": grant.Token}
	// Computed before `valid_ms`, so that the time between the two cannot lengthen the lease.
	answer["elapsed_ms"] = time.Since(readAt).Milliseconds()
	if grant.Fence != nil {
		answer["fence"] = *grant.Fence
	}
	if !grant.AskedAt.IsZero() {
		answer["valid_ms"] = leftMs(ttl, grant.AskedAt)
	}
	return answer
}

// leftMs is rounded down, and measured on the monotonic clock that a time.Time carries.
func leftMs(ttl time.Duration, askedAt time.Time) int64 {
	if left := ttl - time.Since(askedAt); left > 0 {
		return left.Milliseconds()
	}
	return 0
}

// Standard output, which Serve reserves for the protocol.
var output, oneLineAtATime = os.Stdout, sync.Mutex{}

func takeStdout() *os.File {
	output := os.Stdout
	os.Stdout = os.Stderr
	return output
}

// Client of each grant, by its token, for events of background tasks.
var grants sync.Map

func clientOf(token string) *uint64 {
	client, _ := grants.Load(token)
	number, _ := client.(*uint64)
	return number
}

// writeFor writes a message about a client, or about the only client if client is nil.
func writeFor(client *uint64, message object) {
	if client != nil {
		message["client"] = *client
	}
	write(message)
}

func write(message object) {
	line, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	oneLineAtATime.Lock()
	defer oneLineAtATime.Unlock()
	output.Write(append(line, '\n'))
}
