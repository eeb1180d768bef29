// Code generated from adapters/go/lock_contract.go by scripts/package; DO NOT EDIT.

// The interfaces that a lock implements for Picklock's adapter protocol, the grants that it returns, and helpers to adapt
// the lock of a library.

package picklock

import (
	"context"
	"math/rand"
	"runtime/debug"
	"sync"
	"time"
)

// Definite is the error of a request that certainly had no effect: no key was changed. Every other error is reported as
// one that may have had an effect.
type Definite struct{ Message string }

func (e Definite) Error() string { return e.Message }

// Grant is a granted lock.
type Grant struct {
	// Token is passed back to Release and Extend.
	Token string
	// Fence is the fencing token, if the lock supports fencing: it increases with every grant.
	Fence *uint64
	// AskedAt is when the command that took the lock was sent. TryFor sets it if the lock does not. Without it the answer
	// has no valid_ms, and Picklock bounds the lease by its own clock.
	AskedAt time.Time
}

// Lock is the lock that you implement. A nil grant means that another client has the lock.
type Lock interface {
	Acquire(key string, ttl, wait time.Duration) (*Grant, error)
	// Release returns nil if the library does not report whether the lock was still held.
	Release(key, token string) (*bool, error)
}

// Extender is a lock that can be extended.
type Extender interface {
	Extend(key, token string, ttl time.Duration) (*Grant, error)
}

// Cancellable is a lock whose client can give up waiting. When ctx is done, it returns nil if it certainly has not
// taken the lock, or the result of a command in flight.
type Cancellable interface {
	AcquireContext(ctx context.Context, key string, ttl, wait time.Duration) (*Grant, error)
}

// SectionFailer is a lock that handles a failed section. SectionFailed does what an application does when its section
// fails, and returns the same as Release.
type SectionFailer interface {
	SectionFailed(key, token string) (*bool, error)
}

// UnheldReleaser is a lock that can be released although it was refused, as by a defer that unlocks in any case. It
// returns the same as Release.
type UnheldReleaser interface {
	ReleaseUnheld(key string) (*bool, error)
}

// Semaphore is a lock with several holders: Acquire takes one permit, and Release gives it back. SetCapacity is called
// before the first acquisition, with the number of permits that the lock may grant at the same time.
type Semaphore interface {
	SetCapacity(permits int)
}

// SeveralPermits is a semaphore of which one acquisition can take several permits, all or none of them. The grant
// covers all of them. When ctx is done, the client has given up, as in Cancellable.
type SeveralPermits interface {
	Semaphore
	AcquirePermits(ctx context.Context, key string, permits int, ttl, wait time.Duration) (*Grant, error)
}

// ReadWriteLock is a lock whose Acquire lets a writer in. AcquireShared lets a reader in.
type ReadWriteLock interface {
	AcquireShared(ctx context.Context, key string, ttl, wait time.Duration) (*Grant, error)
}

// LeaderElection is a lock whose holder leads. Act is called before each act of the leader. It returns nil if the client
// does not lead any more.
type LeaderElection interface {
	Act(key, token string) (*Acting, error)
}

// Acting means that the leader may act now.
type Acting struct {
	// Epoch increases with every leader. If it is nil, the fence of the grant counts.
	Epoch *uint64
}

func kindOf(lock Lock) string {
	switch lock.(type) {
	case Semaphore:
		return "semaphore"
	case ReadWriteLock:
		return "rwlock"
	case LeaderElection:
		return "leader"
	}
	return "mutex"
}

// MinHolder is a lock whose key stays for up to this time after a release, on purpose.
type MinHolder interface {
	MinHold() time.Duration
}

// LeaseExceeder is a lock whose key lives up to this much longer than the lease.
type LeaseExceeder interface {
	LeaseMargin() time.Duration
}

// Terminator is a lock that cleans up when the process receives SIGTERM, as the program or the library would. The process
// then ends. Without it SIGTERM ends the process at once.
type Terminator interface {
	Terminate()
}

// TryFor calls attempt until it returns a grant or wait is over; if wait is 0, once. For locks that do not wait
// by themselves.
func TryFor(wait time.Duration, attempt func() (*Grant, error)) (*Grant, error) {
	return TryForContext(context.Background(), wait, attempt)
}

// TryForContext is like TryFor, but also stops when ctx is done, between two attempts and never within one.
func TryForContext(ctx context.Context, wait time.Duration, attempt func() (*Grant, error)) (*Grant, error) {
	began := time.Now()
	for {
		askedAt := time.Now()
		grant, err := attempt()
		if err != nil {
			return nil, err
		}
		if grant != nil {
			if grant.AskedAt.IsZero() {
				grant.AskedAt = askedAt
			}
			return grant, nil
		}
		pause := 10*time.Millisecond + time.Duration(rand.Int63n(int64(40*time.Millisecond)))
		if time.Since(began)+pause >= wait {
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(pause):
		}
	}
}

// Objects stores the library's object for each grant, by its token. Many clients can share it.
type Objects[T any] struct {
	access  sync.Mutex
	byToken map[string]T
}

// Keep stores the object of a new grant.
func (o *Objects[T]) Keep(token string, object T) *Grant {
	o.access.Lock()
	defer o.access.Unlock()
	if o.byToken == nil {
		o.byToken = map[string]T{}
	}
	o.byToken[token] = object
	return &Grant{Token: token}
}

// Of returns the object of a grant.
func (o *Objects[T]) Of(token string) (T, error) {
	o.access.Lock()
	defer o.access.Unlock()
	object, known := o.byToken[token]
	if !known {
		return object, Definite{"no grant has the token " + token}
	}
	return object, nil
}

// Release calls free with the object of a grant and removes the object, unless free failed: then the lock may still be
// held.
func (o *Objects[T]) Release(token string, free func(T) (*bool, error)) (*bool, error) {
	object, err := o.Of(token)
	if err != nil {
		return nil, err
	}
	released, err := free(object)
	if err == nil {
		o.access.Lock()
		defer o.access.Unlock()
		delete(o.byToken, token)
	}
	return released, err
}

// Said is the answer of a library that reports whether the lock was still held.
func Said(released bool) *bool { return &released }

// VersionOf returns the version of a module that this program was built with.
func VersionOf(module string) string {
	build, _ := debug.ReadBuildInfo()
	for _, one := range build.Deps {
		if one.Path == module {
			return one.Version
		}
	}
	return ""
}
