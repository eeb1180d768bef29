using System;

namespace Picklock
{
    /// <summary>The run could not take place: no engine, no Redis, a lock that does not load.</summary>
    public class PicklockException : Exception
    {
        public PicklockException(string message) : base(message)
        {
        }
    }

    /// <summary>The run was inconclusive.</summary>
    public sealed class InconclusiveException : PicklockException
    {
        internal InconclusiveException(string message) : base(message)
        {
        }
    }

    /// <summary>The lock does not offer what the scenario needs. xUnit 3 skips the test.</summary>
    public sealed class NotApplicableException : PicklockException
    {
        internal NotApplicableException(string message) : base(message)
        {
        }
    }

    /// <summary>The lock did not keep what the reference or the test requires.</summary>
    public sealed class ViolationException : Exception
    {
        internal ViolationException(string message) : base(message)
        {
        }

        /// <summary>Empty, because the lines of this package would hide the explanation.</summary>
        public override string StackTrace => "";
    }
}
