package io.github.picklock;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** Finds and starts the engine, the program `picklock`. */
final class Engine {
    static final String VERSION = "0.1.0";

    // Seconds that an interrupted engine has to end its servers and workers.
    private static final long PATIENCE = 15;

    // Exit code of an engine that cannot start a run, because of what is installed.
    private static final int ENVIRONMENT = 4;

    // Requested backends with which no run can take place, for example without Redis.
    private static final Set<String> UNAVAILABLE = ConcurrentHashMap.newKeySet();

    private static final Set<Process> RUNNING = ConcurrentHashMap.newKeySet();
    private static final Map<String, Boolean> CHECKED = new ConcurrentHashMap<>();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> RUNNING.forEach(Process::destroy)));
    }

    record Answer(int code, String out, String err) {}

    private Engine() {}

    /** Returns the path of the engine: PICKLOCK_BINARY, else that of the class path, else that on the PATH. */
    static String path() {
        String given = System.getenv("PICKLOCK_BINARY");
        if (given != null && !given.isEmpty() && !Files.isExecutable(Path.of(given))) {
            throw new PicklockException("PICKLOCK_BINARY: " + given + " is not a program");
        }
        String path = given != null && !given.isEmpty() ? given : packed();
        CHECKED.computeIfAbsent(path, Engine::check);
        return path;
    }

    private static boolean check(String path) {
        String line;
        try {
            line = start(path, List.of("--version")).out().strip();
        } catch (IOException problem) {
            throw new PicklockException(
                    "cannot start the engine " + path + ": " + problem.getMessage() + "; it may be for another platform");
        }
        if (!line.equals("picklock " + VERSION)) {
            throw new PicklockException("the engine " + path + " is `" + line + "`, but this package needs version "
                    + VERSION + "; install the same version of both, or unset PICKLOCK_BINARY");
        }
        return true;
    }

    private static String packed() {
        String system = System.getProperty("os.name").startsWith("Mac") ? "darwin" : "linux";
        String machine = System.getProperty("os.arch").equals("aarch64") ? "aarch64" : "x86_64";
        String name = "/META-INF/picklock/" + system + "-" + machine + "/picklock";
        try (InputStream content = Engine.class.getResourceAsStream(name)) {
            if (content != null && !System.getProperty("os.name").startsWith("Windows")) {
                return unpacked(content.readAllBytes());
            }
        } catch (IOException problem) {
            throw new PicklockException("cannot unpack the engine: " + problem);
        }
        return onPath().orElseThrow(() -> new PicklockException("the class path has no engine for " + system + "-" + machine
                + "; add io.github.picklock:picklock-engine with that classifier, set PICKLOCK_BINARY to the program, or,"
                + " on Windows, use WSL or the container"));
    }

    static java.util.Optional<String> onPath() {
        return Arrays.stream(System.getenv().getOrDefault("PATH", "").split(":"))
                .map(folder -> Path.of(folder, "picklock")).filter(Files::isExecutable).map(Path::toString).findFirst();
    }

    /** Writes the engine into the user's cache, once for each content. */
    private static String unpacked(byte[] content) throws IOException {
        String given = System.getenv("XDG_CACHE_HOME");
        Path cache = given != null && !given.isEmpty() ? Path.of(given) : Path.of(System.getProperty("user.home"), ".cache");
        Path directory = cache.resolve("picklock/" + VERSION + "-" + Integer.toHexString(Arrays.hashCode(content)));
        Path program = directory.resolve("picklock");
        if (!Files.isExecutable(program)) {
            Files.createDirectories(directory);
            // Another process may do the same: the last step replaces the file as a whole.
            Path file = Files.createTempFile(directory, "unpacking-", "");
            Files.write(file, content);
            if (!file.toFile().setExecutable(true)) {
                throw new IOException(file + " cannot be made executable");
            }
            Files.move(file, program, StandardCopyOption.ATOMIC_MOVE);
        }
        return program.toString();
    }

    /** Runs the engine. An interrupt ends the run. */
    static Answer call(List<String> words) {
        try {
            return start(path(), words);
        } catch (IOException problem) {
            throw new PicklockException("cannot run the engine: " + problem);
        }
    }

    private static Answer start(String path, List<String> words) throws IOException {
        List<String> command = new ArrayList<>(List.of(path));
        command.addAll(words);
        ProcessBuilder builder = new ProcessBuilder(command);
        // Asks the engine to end when its standard input is closed, which happens even if this process is killed.
        builder.environment().put("PICKLOCK_END_WITH_STDIN", "1");
        Process process = builder.start();
        RUNNING.add(process);
        CompletableFuture<String> out = text(process.getInputStream());
        CompletableFuture<String> err = text(process.getErrorStream());
        try {
            return new Answer(process.waitFor(), out.join(), err.join());
        } catch (InterruptedException ended) {
            end(process);
            Thread.currentThread().interrupt();
            throw new PicklockException("the test was ended, probably by its time limit");
        } finally {
            RUNNING.remove(process);
            process.getOutputStream().close();
        }
    }

    private static void end(Process process) {
        process.destroy();
        try {
            if (!process.waitFor(PATIENCE, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException again) {
            process.destroyForcibly();
        }
    }

    /** Reads a stream on a thread, because a full pipe would block the engine. */
    private static CompletableFuture<String> text(InputStream stream) {
        var text = new CompletableFuture<String>();
        Thread reader = new Thread(() -> {
            try {
                text.complete(new String(stream.readAllBytes(), StandardCharsets.UTF_8));
            } catch (IOException problem) {
                text.complete("");
            }
        });
        reader.setDaemon(true);
        reader.start();
        return text;
    }

    /** Runs a scenario, and returns its cell. If the engine can run nothing, the next runs fail at once. */
    static Map<?, ?> cell(String backend, List<String> words) {
        if (UNAVAILABLE.contains(backend)) {
            throw new PicklockException("no run can take place with the backend " + backend + ": the first failed test has the reason");
        }
        Answer answer = call(words);
        if (answer.code() == ENVIRONMENT && answer.out().isBlank()) {
            UNAVAILABLE.add(backend);
        }
        return cells(answer).get(0);
    }

    /** Runs the engine, and returns the cells of its JSON document. */
    static List<Map<?, ?>> cells(List<String> words) {
        return cells(call(words));
    }

    private static List<Map<?, ?>> cells(Answer answer) {
        if (answer.code() == 2 || answer.code() == 130 || answer.out().isBlank()) {
            throw new PicklockException(answer.code() == 130 ? "the run was interrupted" : message(answer));
        }
        if (!(SmallJson.parse(answer.out()) instanceof Map<?, ?> document)) {
            throw new PicklockException("the engine's document is not JSON: " + answer.out());
        }
        return ((List<?>) document.get("cells")).stream().<Map<?, ?>>map(cell -> (Map<?, ?>) cell).toList();
    }

    /** Returns the engine's message without its prefix, and without the lines about progress. */
    private static String message(Answer answer) {
        List<String> lines = answer.err().strip().lines().toList();
        int first = 0;
        while (first < lines.size() && !lines.get(first).startsWith("picklock: ") && !lines.get(first).startsWith("error: ")) {
            first++;
        }
        String text = String.join("\n", first < lines.size() ? lines.subList(first, lines.size()) : lines);
        return text.isEmpty() ? "the engine ended with exit code " + answer.code() : text.replaceFirst("^picklock: ", "");
    }
}
