package io.github.picklock;

/** The run could not take place: no engine, no Redis, a lock that does not load. */
public class PicklockException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public PicklockException(String message) {
        super(message);
    }

    /** The run was inconclusive. */
    public static final class Inconclusive extends PicklockException {
        private static final long serialVersionUID = 1;

        Inconclusive(String message) {
            super(message);
        }
    }

    /** The lock does not offer what the scenario needs. */
    public static final class NotApplicable extends PicklockException {
        private static final long serialVersionUID = 1;

        NotApplicable(String message) {
            super(message);
        }
    }
}
