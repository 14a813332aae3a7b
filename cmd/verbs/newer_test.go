package verbs

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/cmd/exit"
	"plimsoll/internal/built"
	"plimsoll/load/engine/calibration"
	"plimsoll/load/measure"
	"plimsoll/record"
	"plimsoll/record/store/storetest"
)

// Every file that a newer version has written is refused in one sentence, which names that version
// where the file does, its format and the remedy; the status is that of bad input.
func TestFilesOfTheFutureAreRefused(t *testing.T) {
	const readable = `{"format": 1, "id": "one", "state": "running", "tool": "3.1.0"}`
	opened := func(read func(*record.Run) error) func(string) error {
		return func(dir string) error {
			r, err := record.Open(filepath.Join(dir, "runs", "one"))
			if err != nil {
				return err
			}
			return read(r)
		}
	}
	seconds := func(int, []*measure.Window) bool { return true }
	for name, c := range map[string]struct {
		file, text string
		command    []string           // DIR stands for the directory
		read       func(string) error // where no command reads the file by itself
		by         string             // the version that wrote it
	}{
		"run":         {"runs/one/manifest.json", `{"format": 2, "tool": "3.1.0", "id": ["another", "type"]}`, []string{"show", "one", "-store", "DIR"}, nil, "plimsoll 3.1.0"},
		"comparison":  {"comparisons/c/comparison.json", `{"format": 2, "tool": "3.1.0", "digests": 7}`, []string{"report", "c", "-store", "DIR"}, nil, "plimsoll 3.1.0"},
		"sizing":      {"sizings/s/steps.json", `{"format": 2, "tool": "3.1.0"}`, []string{"report", "s", "-store", "DIR"}, nil, "plimsoll 3.1.0"},
		"plan":        {"plan.yaml", "format: 2\nname: t\nmood: calm\n", []string{"plan", "check", "DIR/plan.yaml"}, nil, "a newer plimsoll"},
		"dump":        {"dump/dataset.json", `{"format": 2, "tool": "3.1.0"}`, []string{"data", "info", "DIR/dump"}, nil, "plimsoll 3.1.0"},
		"fleet keys":  {"fleet.json", `{"format": "plimsoll-fleet-2"}`, []string{"fleet", "-fleet-keys", "DIR/fleet.json"}, nil, "a newer plimsoll"},
		"agent token": {"agent.nk", `{"format": "plimsoll-agent-2"}`, []string{"agent", "-join", "nats://127.0.0.1:1", "-token-file", "DIR/agent.nk"}, nil, "a newer plimsoll"},
		"users": {"runs/one/users.json", `{"format": 2}`, nil, opened(func(r *record.Run) error {
			_, err := r.Users()
			return err
		}), "plimsoll 3.1.0"},
		"telemetry": {"runs/one/telemetry.json", `{"format": 2}`, nil, opened(func(r *record.Run) error {
			_, err := r.Telemetry()
			return err
		}), "plimsoll 3.1.0"},
		"graphs": {"runs/one/graphs.json", `{"format": 2}`, nil, opened(func(r *record.Run) error {
			_, err := r.Graphs()
			return err
		}), "plimsoll 3.1.0"},
		"windows": {"runs/one/windows.hdr", "plimsoll windows 2\n", nil, opened(func(r *record.Run) error {
			_, err := r.EachSecond(seconds)
			return err
		}), "a newer plimsoll"},
		"server side": {"runs/one/telemetry.hdr", "plimsoll windows 2\n", nil, opened(func(r *record.Run) error {
			return r.EachTelemetrySecond(seconds)
		}), "a newer plimsoll"},
		"calibration": {calibration.File, `{"format": 2, "hosts": []}`, nil, func(dir string) error {
			_, _, err := calibration.Load(dir, "x")
			return err
		}, "a newer plimsoll"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeText(t, filepath.Join(dir, "runs", "one", "manifest.json"), readable)
			writeText(t, filepath.Join(dir, c.file), c.text)
			want := "written by " + c.by + ", format 2; this is plimsoll " + built.This().Version + " and reads up to 1: install a newer one"
			if c.read != nil {
				if err := c.read(dir); !errors.Is(err, built.ErrNewer) ||
					!strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant %s", err, want)
				}
				return
			}
			var args []string
			for _, a := range c.command {
				args = append(args, strings.Replace(a, "DIR", dir, 1))
			}
			if status, out, errs := ranWith(t, args...); status != exit.Usage ||
				!strings.Contains(errs, want) ||
				out != "" ||
				strings.Count(errs, "\n") > 2 {
				t.Errorf(
					"%v: status %d, stdout %q, stderr %q\nwant %s",
					args,
					status,
					out,
					errs,
					want,
				)
			}
		})
	}
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "plan.yaml"), "format: 1\n"+strings.TrimSpace(storetest.Plan))
	if status, _, errs := ranWith(t, "plan", "check", filepath.Join(dir, "plan.yaml")); status != exit.OK {
		t.Errorf("a plan of format 1: status %d, %s", status, errs)
	}
}
