package io.github.picklock;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The scenarios of a class that implements {@link LockUnderTest}, and the settings of their runs. */
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface Scenarios {
    /** Names of scenarios, patterns such as late-*, or paths of files. Without any, the profile selects them. */
    String[] value() default {};

    String profile() default "quick";

    /** The built-in lock whose properties the lock must keep. Default: set-nx-px, redlock with several nodes, and semaphore,
     * rwlock or leader for a lock of that kind. */
    String reference() default "";

    /** Where Redis runs: auto, process, docker or external. */
    String backend() default "auto";

    long seed() default 1;

    int nodes() default 1;

    /** Lease time, such as 2s. Default: the scenario's. */
    String ttl() default "";

    /** Options for the lock, as KEY=VALUE. */
    String[] options() default {};

    /** Directory of the runs that failed or could not be judged. */
    String out() default "target/picklock";

    /** Whether to skip the test of an inconclusive run. By default it fails. */
    boolean skipUnknown() default false;
}
