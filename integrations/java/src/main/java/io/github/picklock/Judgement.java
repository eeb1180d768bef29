package io.github.picklock;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The cell of a run, compared with what the test requires. */
final class Judgement {
    // Maximum number of lines of each worker's output in a failure.
    private static final int LAST_LINES = 8;
    // A line of a stack trace, without the exception.
    private static final Pattern FRAME = Pattern.compile("^\\s*(at |\\.\\.\\. )");
    private static final Pattern PLAIN = Pattern.compile("[\\w@%+=:,./-]+");

    private final String title;
    private final Map<?, ?> cell;
    private final String reference;
    private final Map<String, String> required;
    private final Path directory;

    Judgement(String title, Map<?, ?> cell, String reference, Map<String, String> required, Path directory) {
        this.title = title;
        this.cell = cell;
        this.reference = reference;
        this.required = required;
        this.directory = directory;
    }

    Map<String, String> statuses() {
        Map<String, String> statuses = new LinkedHashMap<>();
        ((Map<?, ?>) cell.get("verdicts")).forEach(
                (property, verdict) -> statuses.put((String) property, (String) ((Map<?, ?>) verdict).get("status")));
        return statuses;
    }

    String title() {
        return title;
    }

    /** Returns the facts about the lock that no property judges. */
    List<String> warnings() {
        return cell.get("warnings") instanceof List<?> warnings
                ? warnings.stream().map(warning -> (String) ((Map<?, ?>) warning).get("text")).toList() : List.of();
    }

    void check() throws IOException {
        if (cell.get("error") instanceof String error) {
            throw new PicklockException(title + " did not run: " + error + workerOutput());
        }
        Map<String, String> statuses = statuses();
        if (statuses.values().stream().allMatch("not-applicable"::equals)) {
            throw new PicklockException.NotApplicable(title + " is not applicable: "
                    + Features.missing((Map<?, ?>) cell.get("verdicts")));
        }
        Map<String, String> wrong = wrong(statuses);
        Set<String> unknown = new LinkedHashSet<>(reference == null ? wrong.keySet() : statuses.keySet());
        unknown.removeIf(property -> !"unknown".equals(statuses.get(property)));
        wrong.keySet().removeAll(unknown);
        if (!wrong.isEmpty()) {
            throw new Violation(failure(statuses, wrong));
        }
        if (!unknown.isEmpty()) {
            throw new PicklockException.Inconclusive(title + " cannot be judged: " + String.join(", ", unknown)
                    + " unknown: " + reason(unknown) + (unknown.stream().anyMatch(this::isDueToTheLock) ? "" : "\n"
                    + "On a busy machine, run fewer tests at a time, or skip such tests: @Scenarios(skipUnknown = true)")
                    + warnings().stream().map(text -> "\nWarning: " + text + ".").collect(Collectors.joining())
                    + workerOutput() + "\n" + places());
        }
    }

    /** Returns the required status of each property that has another one. */
    private Map<String, String> wrong(Map<String, String> statuses) {
        Map<String, String> wrong = new LinkedHashMap<>();
        if (reference == null) {
            required.forEach((property, wanted) -> {
                if (!statuses.containsKey(property)) {
                    throw new PicklockException(property + ": no such property; there are " + statuses.keySet());
                }
                if (!wanted.equals(statuses.get(property))) {
                    wrong.put(property, wanted);
                }
            });
            return wrong;
        }
        for (Object each : (List<?>) cell.get("mismatches")) {
            Map<?, ?> mismatch = (Map<?, ?>) each;
            wrong.put((String) mismatch.get("property"), (String) mismatch.get("expected"));
        }
        return wrong;
    }

    private Map<?, ?> verdict(String property) {
        return (Map<?, ?>) ((Map<?, ?>) cell.get("verdicts")).get(property);
    }

    /** Returns true if a property is unknown because the lock uses other servers than its nodes, or because it was never
     * granted. A less busy machine does not help then. */
    private boolean isDueToTheLock(String property) {
        return verdict(property).get("reasons") instanceof List<?> reasons
                && reasons.stream().map(reason -> (Map<?, ?>) reason).anyMatch(reason -> "other-servers".equals(reason.get("kind"))
                || "too-few-grants".equals(reason.get("kind")) && ((Number) reason.get("granted")).longValue() == 0);
    }

    private String reason(Set<String> properties) {
        return properties.stream().map(property -> verdict(property).get("story"))
                .filter(List.class::isInstance).flatMap(story -> ((List<?>) story).stream()).map(String.class::cast).distinct()
                .reduce((one, other) -> one + "; " + other).orElse("no reason is given");
    }

    private String failure(Map<String, String> statuses, Map<String, String> wrong) throws IOException {
        List<String> found = wrong.entrySet().stream()
                .map(entry -> entry.getKey() + " is " + described(entry.getKey()) + ", expected " + entry.getValue()).toList();
        List<String> shared = sharedWithReference(statuses);
        var uncounted = new LinkedHashSet<Object>(shared.stream().map(one -> verdict(one).get("cause")).toList());
        wrong.keySet().forEach(property -> uncounted.remove(verdict(property).get("cause")));
        uncounted.remove(null);
        var text = new StringBuilder(title + ": " + story(uncounted) + workerOutput() + "\n" + String.join("; ", found) + "\n");
        if (reference != null) {
            text.append("The reference lock ").append(reference).append(" would keep: ")
                    .append(String.join(", ", wrong.keySet())).append(".\n");
            if (!shared.isEmpty()) {
                text.append("The reference lock does not keep these either, so they are not counted: ")
                        .append(String.join(", ", shared)).append(".\n");
            }
        }
        return text.append("\n").append(places()).toString();
    }

    /** Returns the violated properties that the reference lock does not keep either. */
    private List<String> sharedWithReference(Map<String, String> statuses) {
        Map<?, ?> expected = reference == null ? Map.of() : (Map<?, ?>) cell.get("expected");
        return statuses.keySet().stream()
                .filter(one -> "any".equals(expected.get(one)) && "violated".equals(statuses.get(one))).toList();
    }

    private String described(String property) {
        Map<?, ?> verdict = verdict(property);
        return verdict.get("status") + (verdict.get("cause") instanceof String cause ? " (" + cause + ")" : "");
    }

    /** Returns the answer in the engine's report: what happened, whose fault it was, the remedy, and the deciding lines. It
     * is the paragraph that begins with a mark, after the title. Without a violation it is the whole report. Violations
     * with an uncounted cause are marked. */
    private String story(Set<Object> uncountedCauses) {
        String report = Engine.call(List.of("check", saved().toString())).out();
        String answer = Arrays.stream(report.split("\n\n")).skip(1).filter(part -> part.startsWith("✘ ")).findFirst()
                .orElse(report);
        for (Object cause : uncountedCauses) {
            answer = answer.replaceFirst("\n(  (?:Remedy:[^✘]*?\\()?picklock\\s+explain\\s+" + cause + "[)\\s])",
                    "\n  Not counted: the reference lock fails here too.\n$1");
        }
        return answer.stripTrailing().replace("(picklock explain", "(" + program() + " explain") + "\n";
    }

    /** Returns how the user can start the engine. */
    private static String program() {
        return Engine.onPath().isPresent() ? "picklock" : Engine.path();
    }

    /** Returns the last lines of a worker's output. If they begin within a stack trace, the first is its exception. */
    private static List<String> last(List<String> all) {
        int start = Math.max(0, all.size() - LAST_LINES);
        var last = new ArrayList<String>(all.subList(start, all.size()));
        for (int at = start; at >= 0 && FRAME.matcher(last.get(0)).find(); at--) {
            last.set(0, all.get(at));
        }
        return last;
    }

    private String workerOutput() throws IOException {
        Map<String, String> texts = new LinkedHashMap<>();
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path log : files.filter(file -> file.getFileName().toString().matches("worker-\\d+\\.log")).sorted().toList()) {
                String text = Files.readString(log, StandardCharsets.UTF_8).strip();
                if (!text.isEmpty()) {
                    texts.putIfAbsent(text, log.getFileName().toString().replace(".log", "").replace("worker-", "client "));
                }
            }
        }
        var lines = new ArrayList<String>();
        texts.forEach((text, client) -> {
            lines.add("\n\nOutput of " + client + ":");
            last(text.lines().toList()).forEach(line -> lines.add("\n  " + line.replace("\t", "    ")));
        });
        return String.join("", lines) + (lines.isEmpty() ? "" : "\n");
    }

    private Path saved() {
        return directory.resolve("run");
    }

    private String places() {
        Engine.call(List.of("report", saved().toString(), "--format", "html", "--out", directory.toString()));
        Path here = Path.of("").toAbsolutePath();
        String path = saved().startsWith(here) ? here.relativize(saved()).toString() : saved().toString();
        return "backend    " + cell.get("backend") + "\nsaved run  " + path + "\ntimeline   " + directory.resolve("report.html").toUri() + "\nrepeat     "
                + program() + " replay " + quoted(path) + " --trust";
    }

    static String quoted(String word) {
        return PLAIN.matcher(word).matches() ? word : "'" + word.replace("'", "'\\''") + "'";
    }
}
