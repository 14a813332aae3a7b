package plans

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/verbtest"
	"plimsoll/internal/failure"
)

// fakePrometheus answers the query of the weights as a server of two hours of calls does, and every
// other with nothing.
func fakePrometheus(t *testing.T, end time.Time) *httptest.Server {
	t.Helper()
	const query = "sum by (handler) (rate(mattermost_api_time_count[2h]))"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer s3cret":
			w.WriteHeader(http.StatusUnauthorized)
			return
		case r.URL.Path != "/prom/api/v1/query":
			http.NotFound(w, r)
			return
		}
		results := ""
		if at, err := strconv.ParseFloat(r.FormValue("time"), 64); err == nil &&
			int64(at) == end.Unix() &&
			r.FormValue("query") == query {
			for handler, rate := range map[string]string{
				"createPost":      "2",
				"saveReaction":    "0.25",
				"getChannelStats": "15",
				"getUsersByIds":   "5",
				"patchPost":       "0.1",
			} {
				results += fmt.Sprintf(`,{"metric":{"handler":%q},"value":[%d,%q]}`,
					handler, end.Unix(), rate)
			}
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`,
			strings.TrimPrefix(results, ","))
	}))
	t.Cleanup(srv.Close)
	return srv
}

// write writes a file.
func write(t *testing.T, name, text string) {
	t.Helper()
	failure.None(t, os.WriteFile(name, []byte(text), 0o600))
}

func TestImportMix(t *testing.T) {
	end := time.Date(2026, 5, 7, 18, 0, 0, 0, time.UTC)
	srv := fakePrometheus(t, end)
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	write(t, token, "s3cret\n")
	verb := func(args ...string) (status int, stdout, stderr string) {
		return verbtest.Run(t, Plan, append([]string{"mix"}, args...)...)
	}
	file := filepath.Join(dir, "mix.yaml")
	status, out, errs := verb("-prometheus", srv.URL+"/prom", "-token-file", token,
		"-at", end.Format(time.RFC3339), "-o", file)
	if status != exit.OK || !strings.Contains(out, "weights of ") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	text, err := os.ReadFile(file)
	failure.None(t, err)
	for _, want := range []string{
		"# query: sum by (handler) (rate(mattermost_api_time_count[2h]))\n", "# at:    2026-05-07T18:00:00Z\n", "# createPost: 2 calls/s\n",
		"getUsersByIds", "\ncreate_post: 1\n", "\nadd_reaction: 0.125\n", "\nscroll_channel: 0\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "s3cret") {
		t.Error("the token is in the file")
	}
	if w, err := new(app.App).Known().ParseWeights(text); err != nil || w["add_reaction"] != 0.125 {
		t.Errorf("%v, %v", w, err)
	}
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{nil, exit.Usage, "want one of -prometheus URL, -file"},
		{[]string{"-prometheus", "ftp://x"}, exit.Usage, "-prometheus: want http"},
		{[]string{"-prometheus", srv.URL, "-window", "5"}, exit.Usage, "-window \"5\": want a time"},
		{[]string{"-prometheus", srv.URL, "-at", "noon"}, exit.Usage, "-at \"noon\": want a moment"},
		{[]string{"-prometheus", srv.URL + "/prom"}, exit.Tool, "401 Unauthorized"},
		{[]string{"-prometheus", srv.URL, "-token-file", token}, exit.Tool, "404 Not Found"},
		{[]string{"-prometheus", srv.URL + "/prom", "-token-file", token, "-at", "2020-01-01T00:00:00Z"}, exit.Tool, "names no handler"},
		{[]string{"-prometheus", "http://127.0.0.1:1"}, exit.Tool, "refused"},
	} {
		if status, out, errs := verb(tt.args...); status != tt.status ||
			!strings.Contains(errs, tt.want) ||
			out != "" {
			t.Errorf("%v: status %d, %q%q", tt.args, status, out, errs)
		}
	}
}

// TestMixOfAnAccessLog: the file has the weights, the share of what stands for no action, and the
// lines that are no requests; and a plan can name it.
func TestMixOfAnAccessLog(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "access.log")
	var text strings.Builder
	for i, request := range []string{
		"POST /api/v4/posts", "POST /api/v4/posts", "POST /api/v4/reactions", "GET /static/main.js",
	} {
		fmt.Fprintf(&text, "10.0.0.1 - - [07/May/2026:18:00:%02d +0000] \"%s HTTP/1.1\" 200 5 \"-\" \"-\"\n", 3*i, request)
	}
	write(t, log, text.String()+"rotated\n")
	mix := filepath.Join(dir, "mix.yaml")
	status, out, errs := verbtest.Run(t, Plan, "mix", "-access-log", log, "-o", mix)
	if status != exit.OK || !strings.Contains(out, "weights of ") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	got, err := os.ReadFile(mix)
	failure.None(t, err)
	for _, want := range []string{
		"# log:   4 requests from 2026-05-07T18:00:00Z to 2026-05-07T18:00:09Z\n",
		"# Lines that are no requests: 1, the first is line 5\n", "# createPost: 0.2222 calls/s\n",
		"GET /static/main.js (25 %)", "\ncreate_post: 1\n", "\nadd_reaction: 0.5\n", "\nscroll_channel: 0\n",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the file lacks %q:\n%s", want, got)
		}
	}
	plan := filepath.Join(dir, "plan.yaml")
	write(t, plan, "name: p\ntarget: {driver: refchat}\ndatabase: {engine: postgresql}\n"+
		"workload: {behavior: mattermost, mix: mix.yaml}\nbounded: {users: 10}\n")
	if status, out, errs := verbtest.Run(t, Plan, "check", plan); status != exit.OK {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	write(t, log, "nothing\n")
	for _, args := range [][]string{
		{"-access-log", log}, {"-access-log", log, "-file", log}, {"-access-log", filepath.Join(dir, "gone")},
	} {
		if status, _, errs := verbtest.Run(t, Plan, append([]string{"mix"}, args...)...); status != exit.Usage {
			t.Errorf("%v: status %d: %s", args, status, errs)
		}
	}
}
