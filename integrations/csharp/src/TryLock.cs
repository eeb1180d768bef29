using System;
using System.Threading;
using System.Threading.Tasks;

namespace Picklock
{
    /// <summary>A lock that does not wait: TryAcquire is repeated until it succeeds, the wait is over, or the client gives
    /// up. A lock that waits by itself implements ILock or ICancellable.</summary>
    public abstract class TryLock : ICancellable
    {
        /// <summary>Returns a token, or null if another client has the lock.</summary>
        public abstract Task<string?> TryAcquire(string key, TimeSpan ttl);

        /// <summary>Returns false if the lock was no longer held, and null if the library does not report it.</summary>
        public abstract Task<bool?> Release(string key, string token);

        public Task<Grant?> Acquire(string key, TimeSpan ttl, TimeSpan wait) =>
            Acquire(key, ttl, wait, CancellationToken.None);

        public Task<Grant?> Acquire(string key, TimeSpan ttl, TimeSpan wait, CancellationToken givenUp) =>
            PicklockAdapter.TryFor(wait, async () =>
            {
                var token = await TryAcquire(key, ttl).ConfigureAwait(false);
                return token == null ? null : new Grant(token);
            }, givenUp);
    }
}
