package picklock

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// Maximum number of lines of each worker's output in a failure.
const lastLines = 8

type outcome int

const (
	held outcome = iota
	violated
	unknown
	notApplicable
	failed
)

// run is one run of a lock under a scenario.
type run struct {
	settings
	call     string
	test     string
	scenario string
}

// execute runs the scenario, and returns the outcome with its explanation. If the lock passed, the explanation is its
// warnings.
func (r run) execute(ctx context.Context) (outcome, string) {
	out, err := filepath.Abs(r.out)
	if err != nil {
		return failed, err.Error()
	}
	directory := filepath.Join(out, lockName(r.test), safe(r.scenario))
	configuration, err := r.prepare(out, directory)
	if err != nil {
		return failed, err.Error()
	}
	words := []string{"matrix", "--config", configuration, "--impl", lockName(r.test), "--scenario", r.scenario, "--seed",
		strconv.Itoa(r.seed), "--backend", r.backend, "--json", "--quiet", "--out", filepath.Join(directory, "runs")}
	if r.reference != "" {
		words = append(words, "--reference", r.reference)
	}
	if r.ttl != "" {
		words = append(words, "--ttl", r.ttl)
	}
	one, err := runCell(ctx, r.backend, words...)
	if err != nil {
		return failed, err.Error()
	}
	if one.RunDir != "" {
		if err := os.Rename(filepath.Join(directory, "runs", one.RunDir), filepath.Join(directory, "run")); err != nil {
			return failed, err.Error()
		}
		os.RemoveAll(filepath.Join(directory, "runs"))
	}
	result, text := r.judge(one, directory)
	if result == held || result == notApplicable {
		os.RemoveAll(directory)
	}
	return result, text
}

// prepare empties the directory of the run, and writes the file that defines the lock for the engine.
func (r run) prepare(out, directory string) (string, error) {
	if err := os.RemoveAll(directory); err != nil {
		return "", err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(out, ".gitignore"), []byte("*\n"), 0o644); err != nil {
		return "", err
	}
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	// `go test` deletes its binary, but the run must be repeatable.
	program, err = kept(program, out)
	if err != nil {
		return "", err
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(r.test), "/", "$/^") + "$"
	command := fmt.Sprintf("%s %s -test.timeout=0 %s %s", quoted(program), quoted("-test.run="+pattern), workerArgument,
		quoted(r.call))
	table := fmt.Sprintf("[impl.%q]\ncommand = %s\ndirectory = %s\nnodes = %d\nkind = %s\n", lockName(r.test),
		toml(command), toml(here), r.nodes, toml(r.kind))
	path := filepath.Join(directory, "picklock.toml")
	return path, os.WriteFile(path, []byte(table), 0o644)
}

// kept returns the path of a copy of the test binary that remains after the test. A hard link costs nothing.
func kept(program, out string) (string, error) {
	copied := filepath.Join(out, filepath.Base(program))
	os.Remove(copied)
	if os.Link(program, copied) == nil {
		return copied, nil
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	return copied, os.WriteFile(copied, content, 0o755)
}

func (r run) judge(one cell, directory string) (outcome, string) {
	title := lockName(r.test) + " in " + r.scenario
	if one.Error != "" {
		return failed, strings.Join(append([]string{title + " did not run: " + one.Error}, workerOutput(directory)...), "\n")
	}
	byStatus := map[string][]string{}
	for _, property := range one.Verdicts.properties {
		status := one.Verdicts.of[property].Status
		byStatus[status] = append(byStatus[status], property)
	}
	if len(byStatus["not-applicable"]) == len(one.Verdicts.properties) {
		return notApplicable, title + " is not applicable: " + missing(one)
	}
	wrong, open := map[string]string{}, byStatus["unknown"]
	for _, each := range one.Mismatches {
		wrong[each.Property] = each.Expected
	}
	if r.expect != nil {
		wrong, open = r.unexpected(one)
		if wrong == nil {
			return failed, fmt.Sprintf("Expect: there are only the properties %s", strings.Join(one.Verdicts.properties, ", "))
		}
	}
	for _, property := range open {
		delete(wrong, property)
	}
	if len(wrong) > 0 {
		return violated, r.failure(title, one, wrong, directory)
	}
	if len(open) > 0 {
		lines := []string{title + " cannot be judged: " + strings.Join(open, ", ") + " unknown: " + reason(one, open)}
		if !isDueToTheLock(one, open) {
			lines = append(lines,
				"On a busy machine, run fewer tests at a time, or skip such tests with the option picklock.SkipUnknown().")
		}
		lines = append(lines, warnings(one)...)
		lines = append(append(lines, workerOutput(directory)...), "", places(directory, one))
		return unknown, strings.Join(lines, "\n")
	}
	text := ""
	if lines := warnings(one); len(lines) > 0 {
		text = title + "\n" + strings.Join(lines, "\n")
	}
	return held, text
}

// warnings returns a line for each fact about the lock that no property judges.
func warnings(one cell) []string {
	var lines []string
	for _, warning := range one.Warnings {
		lines = append(lines, "Warning: "+warning.Text+".")
	}
	return lines
}

// unexpected returns the properties with another status than required, and those of them that are unknown. It returns
// nil if a property does not exist.
func (r run) unexpected(one cell) (map[string]string, []string) {
	wrong, open := map[string]string{}, []string{}
	for property, wanted := range r.expect {
		verdict, exists := one.Verdicts.of[property]
		if !exists {
			return nil, nil
		}
		if verdict.Status != wanted {
			wrong[property] = wanted
			if verdict.Status == "unknown" {
				open = append(open, property)
			}
		}
	}
	return wrong, open
}

// isDueToTheLock returns true if a property is unknown because the lock uses other servers than its nodes, or because it
// was never granted. A less busy machine does not help then.
func isDueToTheLock(one cell, among []string) bool {
	for _, property := range among {
		for _, reason := range one.Verdicts.of[property].Reasons {
			if reason.Kind == "other-servers" || reason.Kind == "too-few-grants" && reason.Granted == 0 {
				return true
			}
		}
	}
	return false
}

// reason returns the reasons why properties are unknown, without repetitions.
func reason(one cell, among []string) string {
	var lines []string
	seen := map[string]bool{}
	for _, property := range among {
		for _, line := range one.Verdicts.of[property].Story {
			if !seen[line] {
				lines = append(lines, line)
			}
			seen[line] = true
		}
	}
	if len(lines) == 0 {
		return "no reason is given"
	}
	return strings.Join(lines, "; ")
}

func (r run) failure(title string, one cell, wrong map[string]string, directory string) string {
	var found, names, shared []string
	isCounted := map[string]bool{"": true}
	for _, property := range one.Verdicts.properties {
		verdict := one.Verdicts.of[property]
		if wanted, is := wrong[property]; is {
			names = append(names, property)
			isCounted[verdict.Cause] = true
			found = append(found, fmt.Sprintf("%s is %s, expected %s", property, verdict.describe(), wanted))
		} else if r.reference != "" && one.Expected[property] == "any" && verdict.Status == "violated" {
			shared = append(shared, property)
		}
	}
	var uncounted []string
	for _, property := range shared {
		if cause := one.Verdicts.of[property].Cause; !isCounted[cause] {
			isCounted[cause] = true
			uncounted = append(uncounted, cause)
		}
	}
	lines := story(filepath.Join(directory, "run"), uncounted)
	lines[0] = title + ": " + lines[0]
	lines = append(append(lines, workerOutput(directory)...), "", strings.Join(found, "; "))
	if r.reference != "" {
		lines = append(lines, fmt.Sprintf("The reference lock %s would keep: %s.", r.reference, strings.Join(names, ", ")))
		if len(shared) > 0 {
			lines = append(lines, "The reference lock does not keep these either, so they are not counted: "+strings.Join(shared, ", ")+".")
		}
	}
	return strings.Join(append(lines, "", places(directory, one)), "\n")
}

func (v verdict) describe() string {
	if v.Cause == "" {
		return v.Status
	}
	return v.Status + " (" + v.Cause + ")"
}

// story returns the answer in the engine's report: what happened, whose fault it was, the remedy, and the deciding lines.
// It is the paragraph that begins with a mark, after the title. Without a violation it is the whole report. Violations
// with an uncounted cause are marked.
func story(saved string, uncountedCauses []string) []string {
	answer, err := start(context.Background(), "check", saved)
	if err != nil {
		return []string{err.Error()}
	}
	text := answer.out
	for _, part := range strings.Split(answer.out, "\n\n")[1:] {
		if strings.HasPrefix(part, "✘ ") {
			text = part
			break
		}
	}
	for _, cause := range uncountedCauses {
		remedy := regexp.MustCompile(`\n(  (?:Remedy:[^✘]*?\()?picklock\s+explain\s+` + cause + `[)\s])`)
		text = remedy.ReplaceAllString(text, "\n  Not counted: the reference lock fails here too.\n$1")
	}
	text = strings.ReplaceAll(strings.TrimSpace(text), "(picklock explain", "("+program()+" explain")
	return strings.Split(text, "\n")
}

// program returns how the user can start the engine.
func program() string {
	path := "picklock"
	if _, err := exec.LookPath(path); err != nil {
		path, _ = engine()
	}
	return quoted(path)
}

// workerOutput returns the last lines of the output of each worker, without repetitions.
func workerOutput(directory string) []string {
	logs, _ := filepath.Glob(filepath.Join(directory, "run", "worker-*.log"))
	more, _ := filepath.Glob(filepath.Join(directory, "runs", "*", "*", "*", "worker-*.log"))
	logs = append(logs, more...)
	sort.Strings(logs)
	var lines []string
	seen := map[string]bool{}
	for _, log := range logs {
		content, _ := os.ReadFile(log)
		text := strings.TrimSpace(string(content))
		if text == "" || seen[text] {
			continue
		}
		seen[text] = true
		client := strings.Replace(strings.TrimSuffix(filepath.Base(log), ".log"), "worker-", "client ", 1)
		lines = append(lines, "", "Output of "+client+":")
		last := strings.Split(text, "\n")
		if len(last) > lastLines {
			last = last[len(last)-lastLines:]
		}
		for _, line := range last {
			lines = append(lines, "  "+line)
		}
	}
	return lines
}

func places(directory string, one cell) string {
	saved := short(filepath.Join(directory, "run"))
	start(context.Background(), "report", saved, "--format", "html", "--out", directory)
	return fmt.Sprintf("backend    %s\nsaved run  %s\ntimeline   file://%s\nrepeat     %s replay %s --trust", one.Backend, saved,
		filepath.Join(directory, "report.html"), program(), quoted(saved))
}

// short returns a path relative to the current directory, if the path is below it.
func short(path string) string {
	current, err := os.Getwd()
	if err != nil {
		return path
	}
	relative, err := filepath.Rel(current, path)
	if err != nil || !filepath.IsLocal(relative) {
		return path
	}
	return relative
}

func toml(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}

var plain = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var unsafeLetters = regexp.MustCompile(`[^A-Za-z0-9._-]`)

func safe(text string) string { return unsafeLetters.ReplaceAllString(text, "_") }
