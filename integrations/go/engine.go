package picklock

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

//go:embed all:engine
var packed embed.FS

// Time that an interrupted engine has to end its servers and workers.
const patience = 15 * time.Second

// engine returns the path of the engine: PICKLOCK_BINARY, else that of this module, else that on the PATH.
func engine() (string, error) {
	path, err := binary()
	if err != nil {
		return "", err
	}
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("cannot start the engine %s: %w; it may be for another platform", path, err)
	}
	if line := strings.TrimSpace(string(out)); line != "picklock "+Version {
		return "", fmt.Errorf("the engine %s is `%s`, but this package needs version %s; install the same version of "+
			"both, or unset PICKLOCK_BINARY", path, line, Version)
	}
	return path, nil
}

func binary() (string, error) {
	if given := os.Getenv("PICKLOCK_BINARY"); given != "" {
		if about, err := os.Stat(given); err != nil || about.Mode()&0o111 == 0 {
			return "", fmt.Errorf("PICKLOCK_BINARY: %s is not a program", given)
		}
		return given, nil
	}
	name := fmt.Sprintf("picklock-%s-%s.gz", runtime.GOOS, runtime.GOARCH)
	content, err := packed.ReadFile("engine/" + name)
	if err == nil {
		return unpacked(content)
	}
	if path, err := exec.LookPath("picklock"); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("this module has no engine for %s on %s; install picklock, set PICKLOCK_BINARY to the "+
		"program, or, on Windows, use WSL or the container", runtime.GOOS, runtime.GOARCH)
}

// unpacked writes the engine into the user's cache, once for each content.
func unpacked(content []byte) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	directory := filepath.Join(cache, "picklock", fmt.Sprintf("%s-%x", Version, sha256.Sum256(content))[:24])
	path := filepath.Join(directory, "picklock")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return "", err
	}
	// Another process may do the same: the last step replaces the file as a whole.
	file, err := os.CreateTemp(directory, "unpacking-")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name())
	reader, err := gzip.NewReader(bytes.NewReader(content))
	if err == nil {
		_, err = io.Copy(file, reader)
	}
	if err = errors.Join(err, file.Chmod(0o700), file.Close()); err != nil {
		return "", err
	}
	return path, os.Rename(file.Name(), path)
}

// Asks the engine to end when its standard input is closed, which happens even if this process is killed.
const endWithStdin = "PICKLOCK_END_WITH_STDIN=1"

type answer struct {
	code     int
	out, err string
}

// start runs the engine. When ctx is done, it interrupts the engine and waits until it has ended its processes.
func start(ctx context.Context, words ...string) (answer, error) {
	path, err := engine()
	if err != nil {
		return answer{}, err
	}
	var out, messages bytes.Buffer
	command := exec.Command(path, words...)
	command.Stdout, command.Stderr = &out, &messages
	command.Env = append(os.Environ(), endWithStdin)
	if _, err := command.StdinPipe(); err != nil {
		return answer{}, err
	}
	if err := command.Start(); err != nil {
		return answer{}, err
	}
	ended := make(chan struct{})
	go func() {
		select {
		case <-ended:
			return
		case <-ctx.Done():
			command.Process.Signal(os.Interrupt)
		}
		select {
		case <-ended:
		case <-time.After(patience):
			command.Process.Kill()
		}
	}()
	command.Wait()
	close(ended)
	if ctx.Err() != nil {
		return answer{}, fmt.Errorf("the run was ended by the time limit of the test, or by its context: %w", ctx.Err())
	}
	return answer{command.ProcessState.ExitCode(), out.String(), messages.String()}, nil
}

type verdict struct {
	Status string
	Cause  string
	Story  []string
	// The reasons for the status unknown or not-applicable, one for each line of the story.
	Reasons []struct {
		Kind, Feature, Unsupported string
		Granted                    int
	}
}

// verdicts has the verdict on each property, and the properties in the order in which the engine lists them.
type verdicts struct {
	properties []string
	of         map[string]verdict
}

func (v *verdicts) UnmarshalJSON(document []byte) error {
	if err := json.Unmarshal(document, &v.of); err != nil {
		return err
	}
	names := json.NewDecoder(bytes.NewReader(document))
	names.Token() // the opening brace
	for names.More() {
		name, _ := names.Token()
		v.properties = append(v.properties, name.(string))
		names.Decode(&json.RawMessage{})
	}
	return nil
}

type cell struct {
	Scenario   string
	Verdicts   verdicts
	Expected   map[string]string
	Mismatches []struct{ Property, Expected string }
	Warnings   []struct{ Text string }
	Error      string
	RunDir     string `json:"run_dir"`
	Backend    string
}

// cells runs the engine, and returns the cells of its document.
func cells(ctx context.Context, words ...string) ([]cell, error) {
	answer, err := start(ctx, words...)
	if err != nil {
		return nil, err
	}
	return parsed(answer)
}

func parsed(of answer) ([]cell, error) {
	if of.code == 130 {
		return nil, errors.New("the run was interrupted")
	}
	if of.code == 2 || strings.TrimSpace(of.out) == "" {
		return nil, errors.New(message(of))
	}
	var document struct{ Cells []cell }
	err := json.Unmarshal([]byte(of.out), &document)
	return document.Cells, err
}

// Exit code of an engine that cannot start a run, because of what is installed.
const environment = 4

var (
	// Requested backends with which no run can take place, for example without Redis.
	unavailable      = map[string]bool{}
	unavailableMutex sync.Mutex
)

// runCell runs one scenario. If the engine can run nothing, the next runs fail at once.
func runCell(ctx context.Context, backend string, words ...string) (cell, error) {
	unavailableMutex.Lock()
	known := unavailable[backend]
	unavailableMutex.Unlock()
	if known {
		return cell{}, fmt.Errorf("no run can take place with the backend %s: the first failed test has the reason", backend)
	}
	answer, err := start(ctx, words...)
	if err != nil {
		return cell{}, err
	}
	found, err := parsed(answer)
	if err != nil && answer.code == environment {
		unavailableMutex.Lock()
		unavailable[backend] = true
		unavailableMutex.Unlock()
	}
	if err != nil {
		return cell{}, err
	}
	return found[0], nil
}

// message returns the engine's message without its prefix, and without the lines about progress.
func message(of answer) string {
	lines := strings.Split(strings.TrimSpace(of.err), "\n")
	for at, line := range lines {
		if strings.HasPrefix(line, "picklock: ") || strings.HasPrefix(line, "error: ") {
			lines = lines[at:]
			break
		}
	}
	if text := strings.TrimPrefix(strings.Join(lines, "\n"), "picklock: "); text != "" {
		return text
	}
	return fmt.Sprintf("the engine ended with exit code %d", of.code)
}

// plan returns the names of the scenarios of a selection. A profile has those that suit the reference lock.
func plan(ctx context.Context, reference string, selection []string) ([]string, error) {
	words := []string{"matrix", "--backend", "sim", "--impl", reference, "--json", "--quiet"}
	found, err := cells(ctx, append(words, selection...)...)
	names := make([]string, 0, len(found))
	for _, each := range found {
		names = append(names, each.Scenario)
	}
	return names, err
}
