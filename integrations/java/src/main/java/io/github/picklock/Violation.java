package io.github.picklock;

/** The lock did not keep what the reference or the test requires. */
public final class Violation extends AssertionError {
    private static final long serialVersionUID = 1;

    Violation(String message) {
        super(message);
        // The lines of this package would hide the explanation.
        setStackTrace(new StackTraceElement[0]);
    }
}
