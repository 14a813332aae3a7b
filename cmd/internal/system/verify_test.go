package system

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/reference"
	"plimsoll/cmd/internal/verbtest"
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
	by := verbtest.Surroundings{
		Env:      map[string]string{"PLIMSOLL_ADMIN_PASSWORD": "Very-secret-1"},
		Terminal: true,
	}
	check := func(args ...string) (status int, out, talk string) {
		args = slices.Concat([]string{"verify"}, args, []string{url})
		status, out, talk = by.Run(t, Target, args...)
		if strings.Contains(out+talk, "Very-secret") {
			t.Error("the password was printed")
		}
		return status, out, talk
	}
	const only = "-only=upsert_draft,update_custom_status,add_channel_bookmark"
	status, out, talk := check(only)
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
	status, out, _ = check(only, "-json")
	var v Verified
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
	if status, out, _ = check("-only=upsert_draft"); status != exit.OK {
		t.Errorf("status %d of what works\n%s", status, out)
	}
	by.Env["PLIMSOLL_ADMIN_PASSWORD"] = "wrong"
	if status, out, talk = check("-only=upsert_draft"); status != exit.Tool || out != "" ||
		!strings.Contains(talk, "administrator") {
		t.Errorf("status %d with a wrong password\n%s%s", status, out, talk)
	}
}
