package external_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/internal/plain"
	"plimsoll/target"
	"plimsoll/target/external"
)

// TestInstallGetsItsTurn: the command learns for which run it is called, inherits no secret of this
// program, and its output is kept without secrets.
func TestInstallGetsItsTurn(t *testing.T) {
	t.Setenv("PLIMSOLL_ADMIN_PASSWORD", "of-the-program")
	t.Setenv("ELSEWHERE", "known-and-secret")
	secrets := new(plain.Secrets)
	secrets.Add("known-and-secret")
	url := server(t)
	dep, err := (&external.Driver{Secrets: secrets}).Deploy(t.Context(), target.Spec{
		Name:    "new",
		Version: "11.1-rc2",
		Engine:  "mysql",
		URL:     url,
		Ready:   "/ping",
		Env:     map[string]string{"ZONE": "eu"},
		Secrets: map[string]string{"TOKEN": "hush-hush"},
		InstallCmd: []string{
			"/bin/sh",
			"-c",
			`env | grep -e ^PLIMSOLL -e ^ZONE -e ^TOKEN -e ^ELSEWHERE -e ^HOME | sort; echo "$TOKEN" >&2`,
		},
	})
	failure.None(t, err)
	site := dep.(*external.Site)
	failure.None(t, site.LookUp())
	var log bytes.Buffer
	failure.None(t, site.Install(t.Context(), external.Turn{Block: 3, Run: 2, Log: &log}))
	got := log.String()
	for _, want := range []string{"PLIMSOLL_ARM=new\n", "PLIMSOLL_VERSION=11.1-rc2\n", "PLIMSOLL_ENGINE=mysql\n", "PLIMSOLL_BLOCK=3\n", "PLIMSOLL_RUN=2\n",
		"PLIMSOLL_URL=" + url + "\n", "ZONE=eu\n", "TOKEN=[redacted]\n", "HOME=", "# install of new: sh -c"} {
		if !strings.Contains(got, want) {
			t.Errorf("the log does not have %q", want)
		}
	}
	for _, never := range []string{"of-the-program", "ELSEWHERE=", "hush-hush"} {
		if strings.Contains(got, never) {
			t.Errorf("the log has %q", never)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// TestInstallErrors: an error quotes the last twenty lines, and a target that is not ready
// afterwards did not start.
func TestInstallErrors(t *testing.T) {
	deploy := func(ready, script string) *external.Site {
		dep, err := (&external.Driver{ReadyTimeout: 100 * time.Millisecond}).Deploy(
			t.Context(),
			target.Spec{
				Name:       "new",
				URL:        server(t),
				Ready:      ready,
				Secrets:    map[string]string{"TOKEN": "hush-hush"},
				InstallCmd: []string{"/bin/sh", "-c", script},
			},
		)
		failure.None(t, err)
		return dep.(*external.Site)
	}
	err := deploy(
		"/ping",
		`for i in $(seq 1 30); do echo "line $i"; done; echo "no $TOKEN" >&2; exit 7`,
	).Install(t.Context(), external.Turn{})
	if err == nil || errors.Is(err, target.ErrStart) {
		t.Fatalf("Install() = %v", err)
	}
	if text := plain.Error(err); !strings.Contains(text, "exit status 7") ||
		!strings.Contains(text, "no [redacted]") ||
		!strings.Contains(text, "line 12\n") ||
		strings.Contains(text, "line 11\n") {
		t.Errorf("the error is\n%s", text)
	}
	if err := deploy("/none", "true").Install(t.Context(), external.Turn{}); !errors.Is(
		err,
		target.ErrStart,
	) ||
		!strings.Contains(err.Error(), "after its install") {
		t.Errorf("a target that is not ready: %v", err)
	}
	dep, err := new(external.Driver).Deploy(t.Context(), target.Spec{
		URL:        server(t),
		InstallCmd: []string{"./there-is-no-such-program"},
	})
	failure.None(t, err)
	failure.Says(t, dep.(*external.Site).LookUp(), "target.install")
}

// TestCommandThatHangs: at the deadline the command and its children end.
func TestCommandThatHangs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	dep, err := (&external.Driver{InstallTimeout: 2 * time.Second}).Deploy(t.Context(), target.Spec{
		URL: server(t),
		Env: map[string]string{"FILE": file},
		InstallCmd: []string{
			"/bin/sh",
			"-c",
			`sleep 300 & echo $! > "$FILE.part"; mv "$FILE.part" "$FILE"; wait`,
		},
	})
	failure.None(t, err)
	failure.Says(
		t,
		dep.(*external.Site).Install(t.Context(), external.Turn{}),
		"not done within 2s (target.timeouts.install)",
	)
	b, err := os.ReadFile(file)
	failure.None(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	failure.None(t, err)
	failure.Unless(t, func() bool {
		return syscall.Kill(pid, 0) != nil || zombie(pid)
	}, "process ", pid, " of the command is still there")
}

// zombie reports whether a process has ended and nobody has asked how.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(b), ") Z ")
}

// TestEndedContextIsNoFailedCommand: an interruption is reported as such.
func TestEndedContextIsNoFailedCommand(t *testing.T) {
	var asked atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Store(true)
	}))
	t.Cleanup(srv.Close)
	dep, err := new(external.Driver).Deploy(t.Context(), target.Spec{
		URL:        srv.URL,
		InstallCmd: []string{"/bin/true"},
	})
	failure.None(t, err)
	if asked.Load() {
		t.Error("a target that is yet to be installed was asked for an answer")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := dep.(*external.Site).Install(ctx, external.Turn{}); !errors.Is(
		err,
		context.Canceled,
	) &&
		!strings.Contains(fmt.Sprint(err), "canceled") {
		t.Errorf("Install() = %v", err)
	}
}
