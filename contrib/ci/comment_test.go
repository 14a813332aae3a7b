package ci

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
)

const forgeToken = "the-token-of-this-test"

// A forge stands in for the API of GitHub and GitLab: the comments of pull request 5, and files to
// download.
type forge struct {
	url, authority, files string

	mu       sync.Mutex
	comments []remark
	fail     []func(http.ResponseWriter) // one for each of the next requests that write
	writes   []string
}

type remark struct {
	ID   int               `json:"id"`
	Body string            `json:"body"`
	User map[string]string `json:"user,omitempty"`   // GitHub
	Auth map[string]string `json:"author,omitempty"` // GitLab
}

func newForge(t *testing.T) *forge {
	t.Helper()
	f := &forge{files: t.TempDir(), comments: []remark{}}
	mux := http.NewServeMux()
	const github, gitlab = "/repos/o/r/issues/", "/projects/9/merge_requests/5/notes"
	mux.HandleFunc("GET /repos/o/r/pulls", func(w http.ResponseWriter, r *http.Request) {
		if got := r.FormValue("head"); got != "fork:a branch&state=closed" {
			t.Errorf("asked for the head %q", got)
		}
		answerJSON(w, []any{map[string]any{"number": 5, "head": map[string]string{"sha": "abc"}}})
	})
	mux.HandleFunc("GET /user", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, map[string]string{"username": "bot"})
	})
	mux.HandleFunc("GET "+github+"5/comments", f.list)
	mux.HandleFunc("GET "+gitlab, f.list)
	mux.HandleFunc("POST "+github+"5/comments", f.write)
	mux.HandleFunc("POST "+gitlab, f.write)
	mux.HandleFunc("PATCH "+github+"comments/{id}", f.write)
	mux.HandleFunc("PUT "+gitlab+"/{id}", f.write)
	mux.Handle("/o/", http.FileServer(http.Dir(f.files)))
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/o/") &&
			r.Header.Get("Authorization") != "Bearer "+forgeToken &&
			r.Header.Get("Private-Token") != forgeToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	f.url, f.authority = s.URL, filepath.Join(t.TempDir(), "ca.pem")
	writeText(t, f.authority, string(pem.EncodeToMemory(&pem.Block{
		Type:  "CERTIFICATE",
		Bytes: s.Certificate().Raw,
	})))
	return f
}

func answerJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// list answers a page of 100.
func (f *forge) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	page, _ := strconv.Atoi(r.FormValue("page"))
	from := min(100*(page-1), len(f.comments))
	answerJSON(w, f.comments[from:min(from+100, len(f.comments))])
}

func (f *forge) write(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes = append(f.writes, r.Method)
	if len(f.fail) > 0 {
		fail := f.fail[0]
		f.fail = f.fail[1:]
		fail(w)
		return
	}
	var c remark
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if r.Method == http.MethodPost {
		c.ID = len(f.comments) + 1
		if strings.HasPrefix(r.URL.Path, "/repos/") {
			c.User = map[string]string{"login": "github-actions[bot]"}
		} else {
			c.Auth = map[string]string{"username": "bot"}
		}
		f.comments = append(f.comments, c)
		w.WriteHeader(http.StatusCreated)
	} else if id, _ := strconv.Atoi(r.PathValue("id")); id > 0 && id <= len(f.comments) {
		f.comments[id-1].Body = c.Body
	}
	answerJSON(w, c)
}

// commenting returns a workflow of the second job, with a report of such a comment.
func (f *forge) commenting(t *testing.T, text string) (w *workflow, report string) {
	t.Helper()
	w = newWorkflow(t, "CURL_CA_BUNDLE="+f.authority, "GITHUB_API_URL="+f.url)
	w.context["github.token"], w.context["github.event.pull_request.number"] = forgeToken, "5"
	report = filepath.Join(w.dir, "report")
	writeText(t, filepath.Join(report, "comment.md"), text)
	return w, report
}

func (f *forge) post(
	t *testing.T,
	text string,
	inputs map[string]string,
	event ...string,
) (status int, log string) {
	t.Helper()
	w, report := f.commenting(t, text)
	for i := 0; i < len(event); i += 2 {
		w.context["github.event."+event[i]] = event[i+1]
	}
	all := map[string]string{"report": report}
	maps.Copy(all, inputs)
	status = w.run("contrib/ci/comment", all)
	if strings.Contains(w.log, forgeToken) {
		t.Error("the log has the token")
	}
	return status, w.log
}

const marker = "<!-- plimsoll check plimsoll -->\n"

// There is one comment: the first run posts it, later ones update it, and none touches one of
// another person.
func TestActionComments(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	for i := range 120 { // more than a page; the first one has the marker
		f.comments = append(f.comments, remark{
			ID:   i + 1,
			Body: []string{marker + "mine", "hello"}[min(i, 1)],
			User: map[string]string{"login": "mallory"},
		})
	}
	for i, text := range []string{"first", "second"} {
		if status, log := f.post(t, text, nil); status != 0 {
			t.Fatalf("status %d\n%s", status, log)
		}
		if got := f.comments[len(f.comments)-1]; len(f.comments) != 121 ||
			!strings.HasPrefix(got.Body, marker) ||
			!strings.HasSuffix(got.Body, "\n\n"+text+"\n") ||
			f.comments[0].Body != marker+"mine" {
			t.Fatalf("after run %d: %d comments, the last one %+v", i+1, len(f.comments), got)
		}
		if !strings.Contains(f.comments[120].Body, "(https://forge.invalid/o/r/actions/runs/7)") {
			t.Errorf("no link to the job:\n%s", f.comments[120].Body)
		}
	}
	if status, log := f.post(t, "another check", map[string]string{"key": "db"}); status != 0 ||
		len(f.comments) != 122 {
		t.Errorf("status %d, %d comments\n%s", status, len(f.comments), log)
	}
	if got := strings.Join(f.writes, " "); got != "POST PATCH POST" {
		t.Errorf("requests that write: %s", got)
	}
}

// A pull request from a fork is found by the head of the workflow that measured; one that has moved
// on gets nothing.
func TestActionCommentsOnForks(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	run := func(sha string) (int, string) {
		return f.post(
			t,
			"text",
			nil,
			"pull_request.number",
			"",
			"workflow_run.id",
			"8",
			"workflow_run.head_branch",
			"a branch&state=closed",
			"workflow_run.head_repository.owner.login",
			"fork",
			"workflow_run.head_sha",
			sha,
		)
	}
	if status, log := run("older"); status != 0 || len(f.comments) != 0 ||
		!strings.Contains(log, "no open pull request has older as its head") {
		t.Errorf("status %d, %d comments\n%s", status, len(f.comments), log)
	}
	if status, log := run("abc"); status != 0 || len(f.comments) != 1 ||
		!strings.Contains(f.comments[0].Body, "/actions/runs/8)") {
		t.Errorf("status %d, comments %v\n%s", status, f.comments, log)
	}
}

func TestActionCommentFails(t *testing.T) {
	with := func(code int, header ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			fmt.Fprint(w, `{"message":"no\u001b[2J"}`)
		}
	}
	for _, tt := range []struct {
		name   string
		fail   []func(http.ResponseWriter)
		inputs map[string]string
		status int
		want   string
		writes int
	}{
		{"no permission", []func(http.ResponseWriter){with(403, "X-RateLimit-Remaining", "4999")}, nil, 1, "The job needs the permission pull-requests: write", 1},
		{"no such token", nil, map[string]string{"token": "wrong"}, 1, "GET answered 401", 0},
		{"a rate limit", []func(http.ResponseWriter){with(403, "Retry-After", "1"), with(429, "Retry-After", "1")}, nil, 0, "asking again in 1 s", 3},
		{"a spent limit", []func(http.ResponseWriter){with(403, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1")}, nil, 0, "asking again in 1 s", 2},
		{"a long limit", []func(http.ResponseWriter){with(429, "Retry-After", "3600")}, nil, 1, "asks to wait 3600 s: run this job again then", 1},
		{"what was posted is not posted again", []func(http.ResponseWriter){with(502)}, nil, 1, "POST answered 502", 1},
		{"not accepted", []func(http.ResponseWriter){with(422)}, nil, 1, "POST answered 422: no[2J", 1},
		{"a key", nil, map[string]string{"key": "a --> b"}, 1, "key is 'a --> b': want at most 40", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newForge(t)
			f.fail = tt.fail
			status, log := f.post(t, "text", tt.inputs)
			if status != tt.status || !strings.Contains(log, tt.want) ||
				len(f.writes) != tt.writes {
				t.Errorf(
					"status %d, want %d; %d requests that write, want %d; want %q in\n%s",
					status,
					tt.status,
					len(f.writes),
					tt.writes,
					tt.want,
					log,
				)
			}
		})
	}
}

// What the report writes passes as it is; what it never writes does nothing on a forge.
func TestActionCommentIsInert(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	posted := func(text string) string {
		t.Helper()
		if status, log := f.post(t, text, nil); status != 0 {
			t.Fatalf("status %d\n%s", status, log)
		}
		_, body, _ := strings.Cut(f.comments[0].Body, "</sub>\n\n")
		return body
	}
	goldens, err := filepath.Glob("../../report/testdata/*.comment.md.golden")
	if err != nil || len(goldens) < 3 {
		t.Fatal(goldens, err)
	}
	for _, name := range goldens {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, want, _ := strings.Cut(string(text), "\n")
		if got := posted(string(text)); got != want {
			t.Errorf("%s: changed to\n%s", name, got)
		}
	}
	z := "\u200b"
	for _, tt := range [][2]string{
		{"@org/team @a", "@" + z + "org/team @" + z + "a"},
		{`\@a &#64;a &commat;a`, `\@` + z + `a &amp;#` + z + `64;a &amp;` + z + `commat;a`},
		{"fixes #1, GH-2, o/r#3 and !4 &5 %6 ~bug $7", "fixes #" + z + "1, GH" + z + "-2, o/r#" + z + "3 and !" + z + "4 &amp;" + z + "5 %" + z + "6 ~" + z + "bug $" + z + "7"},
		{"<img src=x> <!-- --> \\<b", "&lt;img src=x> &lt;!-- --> &lt;b"},
		{"![a](https://e.invalid) [b][c]", "![a]" + z + "(https:" + z + "//e.invalid) [b]" + z + "[c]"},
		{"[c]: //e.invalid\n[[wiki]]", "[c]" + z + ": //e.invalid\n[" + z + "[wiki]]"},
		{"WWW.e.invalid ftp:\\//x", "WWW" + z + ".e.invalid ftp:" + z + "\\//x"},
		{"/merge\n  /close", z + "/merge\n  " + z + "/close"},
		{"```mermaid\n~~~", "`" + z + "`" + z + "`mermaid\n~" + z + "~" + z + "~"},
		{"a\x00\x1b[2J\u202eb\u2066c\rd", "a[2Jbcd"},
	} {
		if got := posted(tt[0]); got != tt[1]+"\n" {
			t.Errorf("%q: posted %q, want %q", tt[0], got, tt[1]+"\n")
		}
	}
	if got := posted(strings.Repeat("0123456789\n", 20_000)); len(got) > 60_200 ||
		!strings.HasSuffix(got, "(cut here: the artifact of the job has the whole report)\n") {
		t.Errorf("%d bytes, at the end %q", len(got), got[max(0, len(got)-80):])
	}
}

func TestActionCommentReadsAFile(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	if status, log := f.post(t, strings.Repeat("x", 1<<20+1), nil); status != 1 ||
		!strings.Contains(log, "is larger than 1048576 bytes") {
		t.Errorf("status %d\n%s", status, log)
	}
	w, report := f.commenting(t, "x")
	name := filepath.Join(report, "comment.md")
	for _, tt := range []struct{ make, want string }{
		{"rm " + name + " && ln -s /etc/passwd " + name, "comment.md is a link: want a file"},
		{"rm " + name + " && mkfifo " + name, "there is no " + name},
		{"rm -r " + report + " && ln -s /etc " + report, "is a link: want a file"},
		{"rm " + report, "nothing is posted"},
	} {
		w.mustRun(tt.make)
		w.log = ""
		if w.run("contrib/ci/comment", map[string]string{"report": report}); !strings.Contains(
			w.log,
			tt.want,
		) {
			t.Errorf("%s: %s", tt.make, w.log)
		}
	}
	if len(f.comments) > 0 {
		t.Errorf("posted %v", f.comments)
	}
}

// The template of GitLab calls the same scripts, and its second job alone has the token.
func TestGitLabTemplate(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../contrib/ci/gitlab.yml")
	if err != nil {
		t.Fatal(err)
	}
	var jobs map[string]struct {
		Variables map[string]string
		Before    []string `yaml:"before_script"`
		Script    []string
		Artifacts struct {
			Paths   []string
			Reports struct{ JUnit string }
		}
	}
	if err := yaml.Unmarshal(data, &jobs); err != nil {
		t.Fatal(err)
	}
	f := newForge(t)
	w := measuring(t, 6, 0.88)
	scripts, err := filepath.Abs("../../contrib")
	if err != nil {
		t.Fatal(err)
	}
	w.mustRun(
		"git init --quiet ../source && cp -R " + scripts + " ../source/ && cd ../source && git add . && git commit --quiet -m all && git tag v1.2.3",
	)
	work := filepath.Join(w.repo, ".plimsoll-ci")
	job := func(name string, more ...string) int {
		env := append(
			[]string{
				"GITLAB_CI=true",
				"CI_PROJECT_DIR=" + w.repo,
				"WORK=" + work,
				"REPORT=" + work + "/report",
				"CURL_CA_BUNDLE=" + f.authority,
				"CI_API_V4_URL=" + f.url,
				"CI_PROJECT_ID=9",
				"CI_MERGE_REQUEST_IID=5",
				"CI_PIPELINE_URL=https://forge.invalid/p",
				"CI_MERGE_REQUEST_DIFF_BASE_SHA=HEAD~1",
				"PLIMSOLL_REPOSITORY=file://" + filepath.Join(
					w.dir,
					"source",
				),
				"PLIMSOLL_RELEASE=v1.2.3",
			},
			more...)
		for k, v := range jobs[name].Variables {
			env = append(env, k+"="+v)
		}
		env = append(
			env,
			"PLIMSOLL_BUILD=mkdir bin && cp version bin/server",
			"PLIMSOLL_RESULT=bin/server",
			"PLIMSOLL_PROGRAM="+filepath.Join(w.dir, "plimsoll"),
		)
		return w.bash(
			"set -eo pipefail\n"+strings.Join(
				append(jobs[".plimsoll"].Before, jobs[name].Script...),
				"\n",
			),
			env...)
	}
	if status := job("plimsoll"); status != 3 {
		t.Fatalf("status %d\n%s", status, w.log)
	}
	for _, name := range append(jobs["plimsoll"].Artifacts.Paths, jobs["plimsoll"].Artifacts.Reports.JUnit) {
		if _, err := os.Stat(filepath.Join(w.repo, name)); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if status := job("plimsoll-comment", "PLIMSOLL_TOKEN="+forgeToken); status != 0 {
			t.Fatalf("status %d\n%s", status, w.log)
		}
	}
	if len(f.comments) != 1 || !strings.Contains(f.comments[0].Body, "- **WORSE** ·") ||
		strings.Join(f.writes, " ") != "POST PUT" ||
		strings.Contains(w.log, forgeToken) {
		t.Errorf("comments %v by %v\n%s", f.comments, f.writes, w.log)
	}
}
