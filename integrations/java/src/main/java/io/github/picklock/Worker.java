package io.github.picklock;

import java.lang.reflect.Constructor;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** A worker process of the engine: serves the lock of the class that its first argument names. The others are the names
 * of options. */
public final class Worker {
    private Worker() {}

    public static void main(String[] arguments) throws Exception {
        // Reserves standard output before the class of the lock is initialized, because it may print.
        Class.forName(PicklockAdapter.class.getName());
        Class<?> type = Class.forName(arguments[0]);
        var isShared = LockUnderTest.ThreadSafe.class.isAssignableFrom(type);
        String[] options = Arrays.copyOfRange(arguments, 1, arguments.length);
        PicklockAdapter.serve(
                (nodes, timeoutMs, given) -> make(type, nodes, timeoutMs, given),
                isShared ? PicklockAdapter.Clients.THREADS : PicklockAdapter.Clients.ONE,
                type.getSimpleName(), "", options);
    }

    private static PicklockAdapter.Lock make(
            Class<?> type, List<String> nodes, int timeoutMs, Map<String, String> options) throws Exception {
        Constructor<?> constructor = type.getDeclaredConstructor();
        constructor.setAccessible(true);
        LockUnderTest lock = (LockUnderTest) constructor.newInstance();
        lock.connect(nodes, timeoutMs, options);
        return lock;
    }
}
