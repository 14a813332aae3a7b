package verbs

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/reference"
	"plimsoll/cmd/internal/system"
	"plimsoll/plan"
	"plimsoll/reference/refchat"
)

// target verify distinguishes actions that work, fail, are missing and need a license, and exits
// accordingly.
func TestTargetVerify(t *testing.T) {
	url := reference.Start(t, plan.PostgreSQL, refchat.Config{
		License:       "none",
		AdminPassword: "Very-secret-1",
		Faults:        []string{"error:100%@updateUserCustomStatus"},
	})
	env := map[string]string{"PLIMSOLL_ADMIN_PASSWORD": "Very-secret-1"}
	verify := func(args ...string) (status int, out, talk string) {
		var stdout, stderr bytes.Buffer
		a := &app.App{
			Stdout:   &stdout,
			Stderr:   &stderr,
			Env:      func(k string) string { return env[k] },
			Terminal: true,
		}
		status = run(t.Context(), a, append([]string{"target", "verify"}, append(args, url)...))
		if strings.Contains(stdout.String()+stderr.String(), "Very-secret") {
			t.Error("the password was printed")
		}
		return status, stdout.String(), stderr.String()
	}
	const only = "-only=upsert_draft,update_custom_status,add_channel_bookmark"
	status, out, talk := verify(only)
	const before = "settings of the server that matter to a run of 100 users (-users):\n" +
		"  note   license is none: a run leaves out the actions of the outcome license\n"
	if status != exit.Invalid ||
		!strings.HasPrefix(out, before+"ACTION                OUTCOME  DETAIL\n") ||
		!strings.Contains(out, "3 actions, 1 ok, 0 absent, 1 license, 1 FAILED") ||
		!strings.Contains(talk, "upsert_draft: ok") {
		t.Errorf("status %d\n%s%s", status, out, talk)
	}
	for line := range strings.Lines(out) {
		line = strings.Join(strings.Fields(line), " ")
		switch {
		case strings.HasPrefix(line, "upsert_draft ") && !strings.Contains(line, " ok"),
			strings.HasPrefix(line, "add_channel_bookmark ") && !strings.Contains(line, " license channel bookmarks: needs any license, the server has no license"),
			strings.HasPrefix(line, "update_custom_status ") && !strings.Contains(line, " FAILED doing it: set_custom_status: status 500 refchat.fault.app_error"):
			t.Error(line)
		}
	}
	status, out, _ = verify(only, "-json")
	var v system.Verified
	if err := json.Unmarshal([]byte(out), &v); err != nil || status != exit.Invalid {
		t.Fatalf("status %d, %v in %s", status, err, out)
	}
	if v.URL != url || v.Version != "11.0.0" || len(v.Actions) != 3 || v.Counts["ok"] != 1 ||
		v.Counts["absent"] != 0 ||
		v.Counts["FAILED"] != 1 ||
		v.Users != 100 ||
		len(v.Obstacles) != 1 ||
		v.Obstacles[0].Setting != "license" {
		t.Errorf("%+v", v)
	}
	if status, out, _ = verify("-only=upsert_draft"); status != exit.OK {
		t.Errorf("status %d of what works\n%s", status, out)
	}
	env["PLIMSOLL_ADMIN_PASSWORD"] = "wrong"
	if status, out, talk = verify("-only=upsert_draft"); status != exit.Tool || out != "" ||
		!strings.Contains(talk, "administrator") {
		t.Errorf("status %d with a wrong password\n%s%s", status, out, talk)
	}
}

// A verification that the docs print has an administrator's secret: without one it ends before it
// begins.
func TestVerifyInTheDocsHasASecret(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	n := 0
	for _, f := range append(files, "../../README.md") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if before, args, ok := strings.Cut(line, "plimsoll target verify "); ok &&
				!strings.Contains(before, "`") {
				n++
				if !strings.Contains(args, "-token-file ") &&
					!strings.Contains(before, "PLIMSOLL_ADMIN_") {
					t.Errorf("%s: %s", f, line)
				}
			}
		}
	}
	if n < 4 {
		t.Errorf("%d lines verify a server, want those of verify.md and sizing.md", n)
	}
}
