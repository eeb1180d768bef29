package io.github.picklock;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.opentest4j.TestAbortedException;

/** Runs a lock through scenarios. Its settings are those of {@link Scenarios} at the class of the lock. */
public final class Picklock {
    @Scenarios
    private static final class Defaults {}

    // System property that selects scenarios in place of the annotation.
    private static final String SELECTION = "picklock.scenarios";

    private final Class<? extends LockUnderTest> type;
    private final Scenarios settings;
    private final Map<String, String> expected = new TreeMap<>();

    private Picklock(Class<? extends LockUnderTest> type) {
        this.type = type;
        Scenarios own = type.getAnnotation(Scenarios.class);
        this.settings = own == null ? Defaults.class.getAnnotation(Scenarios.class) : own;
    }

    public static Picklock of(Class<? extends LockUnderTest> type) {
        if (type.getEnclosingClass() != null && !Modifier.isStatic(type.getModifiers())) {
            throw new PicklockException(type.getName() + " cannot be created in a worker process: make the class static");
        }
        try {
            type.getDeclaredConstructor();
        } catch (NoSuchMethodException absent) {
            throw new PicklockException(type.getName() + " cannot be created in a worker process: add a constructor without "
                    + "parameters, and connect in `connect`");
        }
        return new Picklock(type);
    }

    /** Requires this status of a property, and no longer what the reference keeps. */
    public Picklock expect(String property, String status) {
        expected.put(property, status);
        return this;
    }

    /** Returns one test per scenario. */
    public Stream<DynamicTest> tests() {
        List<String> words = new ArrayList<>(
                List.of("matrix", "--backend", "sim", "--impl", suited(), "--json", "--quiet"));
        String names = System.getProperty(SELECTION, String.join(",", settings.value()));
        words.addAll(names.isEmpty() ? List.of("--profile", settings.profile()) : List.of("--scenario", names));
        return Engine.cells(words).stream().map(cell -> (String) cell.get("scenario"))
                .map(name -> DynamicTest.dynamicTest(name, () -> test(name)));
    }

    private void test(String scenario) {
        // A profile takes minutes, and Surefire prints the result of a class at its end, with numbers in place of names.
        String name = "picklock: " + type.getSimpleName() + " in " + scenario + ": ";
        try {
            run(scenario);
            System.out.println(name + "passed");
        } catch (PicklockException.NotApplicable reason) {
            System.out.println(name + "not applicable");
            throw new TestAbortedException(reason.getMessage());
        } catch (PicklockException.Inconclusive reason) {
            System.out.println(name + "cannot be judged");
            if (settings.skipUnknown()) {
                throw new TestAbortedException(reason.getMessage());
            }
            throw reason;
        } catch (Violation | PicklockException problem) {
            System.out.println(name + "failed");
            throw problem;
        }
    }

    /** Runs a scenario, and returns the status of each property.
     *
     * @throws Violation if the lock does not keep what the reference keeps
     * @throws PicklockException if the run could not take place, or was inconclusive */
    public Map<String, String> run(String scenario) {
        try {
            return runIn(Path.of(settings.out()).toAbsolutePath().resolve(fileName(type.getName())).resolve(fileName(scenario)),
                    scenario);
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    private Map<String, String> runIn(Path directory, String scenario) throws IOException {
        delete(directory);
        Files.createDirectories(directory);
        Path configuration = directory.resolve("picklock.toml");
        Files.writeString(configuration, table());
        List<String> words = new ArrayList<>(List.of("matrix", "--config", configuration.toString(), "--impl",
                type.getSimpleName(), "--scenario", scenario, "--seed", String.valueOf(settings.seed()), "--backend",
                settings.backend(), "--json", "--quiet", "--out", directory.resolve("runs").toString()));
        String reference = reference();
        if (reference != null) {
            words.addAll(List.of("--reference", reference));
        }
        if (!settings.ttl().isEmpty()) {
            words.addAll(List.of("--ttl", settings.ttl()));
        }
        Map<?, ?> cell = Engine.cell(settings.backend(), words);
        if (cell.get("run_dir") instanceof String runDir) {
            Files.move(directory.resolve("runs").resolve(runDir), directory.resolve("run"));
            delete(directory.resolve("runs"));
        }
        Judgement judgement = new Judgement(type.getSimpleName() + " in " + scenario, cell, reference, expected, directory);
        judgement.check();
        // JUnit has no warnings, and the report of a test class contains its output.
        judgement.warnings().forEach(
                text -> System.out.println("picklock: " + judgement.title() + ": warning: " + text));
        delete(directory);
        return judgement.statuses();
    }

    private String reference() {
        if (!expected.isEmpty()) {
            return null;
        }
        return suited();
    }

    /** Returns the built-in lock whose scenarios a profile has, and whose properties the lock must keep by default. */
    private String suited() {
        if (!settings.reference().isEmpty()) {
            return settings.reference();
        }
        String kind = LockContract.kindOf(type);
        if (!kind.equals("mutex")) {
            return kind;
        }
        return settings.nodes() == 1 ? "set-nx-px" : "redlock";
    }

    /** Returns the table that defines the lock for the engine: how its worker is started. */
    private String table() {
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        List<String> names = Arrays.stream(settings.options()).map(option -> option.split("=", 2)[0]).toList();
        List<String> command = new ArrayList<>(List.of(java.toString(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
                Worker.class.getName(), type.getName()));
        command.addAll(names);
        // Surefire's own class path is a file that it deletes.
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        String options = Arrays.stream(settings.options()).map(option -> option.split("=", 2))
                .map(pair -> toml(pair[0]) + " = " + toml(pair[pair.length - 1])).collect(Collectors.joining(", "));
        return "[impl." + toml(type.getSimpleName()) + "]\ncommand = "
                + toml(command.stream().map(Judgement::quoted).collect(Collectors.joining(" ")))
                + "\ndirectory = " + toml(Path.of("").toAbsolutePath().toString()) + "\nnodes = " + settings.nodes()
                + "\nkind = " + toml(LockContract.kindOf(type))
                + "\nenvironment = { CLASSPATH = " + toml(classPath) + " }\n"
                + (options.isEmpty() ? "" : "options = { " + options + " }\n");
    }

    private static String toml(String text) {
        return SmallJson.write(text);
    }

    private static String fileName(String text) {
        return text.replaceAll("[^A-Za-z0-9._-]", "_");
    }

    private static void delete(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return;
        }
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
