package perf

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// An elastic is as much of Elasticsearch as the bulk API needs. The function in it returns the
// status of each document, by how often it came.
type elastic struct {
	mu   sync.Mutex
	docs map[string]string // by id
	came map[string]int
	say  func(id string, time int) int
	auth string
}

func (e *elastic) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	user, password, _ := r.BasicAuth()
	e.auth = user + ":" + password
	if r.Method != "POST" || r.URL.Path != "/_bulk" ||
		r.Header.Get("Content-Type") != "application/x-ndjson" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var items []string
	sc := bufio.NewScanner(r.Body)
	for sc.Scan() {
		var action struct {
			Index struct {
				Index string `json:"_index"`
				ID    string `json:"_id"`
			}
		}
		if json.Unmarshal(sc.Bytes(), &action) != nil || action.Index.Index != "performance" ||
			!sc.Scan() {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		id := action.Index.ID
		e.came[id]++
		status := 201
		if e.say != nil {
			status = e.say(id, e.came[id])
		}
		if status == 201 {
			e.docs[id] = sc.Text()
			items = append(items, `{"index":{"status":201}}`)
		} else {
			items = append(items, fmt.Sprintf(`{"index":{"status":%d,"error":{"type":"mapper_parsing_exception"}}}`, status))
		}
	}
	fmt.Fprintf(w, `{"took":1,"errors":true,"items":[%s]}`, strings.Join(items, ","))
}

func start(t *testing.T, e *elastic) string {
	t.Helper()
	e.docs, e.came = map[string]string{}, map[string]int{}
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "http://", "http://elastic:hunter2@", 1)
}

func short(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

var story = Document{
	TS:         noon,
	Entity:     "outbound",
	Operation:  "post",
	Throughput: 3,
	Mean:       1.25,
	Median:     1,
	Upper5:     2.5,
}

// TestDocuments: they have the study's fields and no others, and take their own place when they are
// written again.
func TestDocuments(t *testing.T) {
	e := &elastic{}
	b, err := NewBulk(start(t, e), DefaultIndex)
	if err != nil {
		t.Fatal(err)
	}
	other := story
	other.Operation = "search"
	for range 2 {
		if err := b.Put(short(t), []Document{story, other}); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		"outbound-post-2026-03-27T12:00:00Z":   `{"ts":"2026-03-27T12:00:00Z","entity":"outbound","operation":"post","throughput":3,"mean":1.25,"median":1,"upper5":2.5}`,
		"outbound-search-2026-03-27T12:00:00Z": `{"ts":"2026-03-27T12:00:00Z","entity":"outbound","operation":"search","throughput":3,"mean":1.25,"median":1,"upper5":2.5}`,
	}
	if diff := cmp.Diff(want, e.docs); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	if e.auth != "elastic:hunter2" {
		t.Errorf("it said %q", e.auth)
	}
}

// TestWhatCannotBeTakenYetIsSentAgain checks that only such documents are sent again, and that
// those refused for good are reported and not repeated.
func TestWhatCannotBeTakenYetIsSentAgain(t *testing.T) {
	later, bad := story, story
	later.Operation, bad.Operation = "search", "get"
	e := &elastic{say: func(id string, n int) int {
		switch {
		case strings.Contains(id, "search") && n < 3:
			return 429
		case strings.Contains(id, "get"):
			return 400
		}
		return 201
	}}
	b, err := NewBulk(start(t, e), DefaultIndex)
	if err != nil {
		t.Fatal(err)
	}
	err = b.Put(short(t), []Document{story, later, bad})
	if r, ok := errors.AsType[*RefusedError](err); !ok || r.N != 1 || r.Status != 400 ||
		r.Type != "mapper_parsing_exception" {
		t.Errorf("%v, want one document refused with 400", err)
	}
	if diff := cmp.Diff(map[string]int{
		story.ID(): 1,
		later.ID(): 3,
		bad.ID():   1,
	}, e.came); diff != "" || len(e.docs) != 2 {
		t.Errorf("%d documents are there; how often each came (-want +got):\n%s", len(e.docs), diff)
	}
}

// TestAServerThatIsNotThere ends with ctx, and no error contains the password.
func TestAServerThatIsNotThere(t *testing.T) {
	for _, s := range []http.HandlerFunc{
		func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusTemporaryRedirect)
		},
		nil,
	} {
		server := httptest.NewServer(s)
		b, err := NewBulk(
			strings.Replace(server.URL, "http://", "http://elastic:hunter2@", 1),
			DefaultIndex,
		)
		if err != nil {
			t.Fatal(err)
		}
		if s == nil {
			server.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		err = b.Put(ctx, []Document{story})
		cancel()
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("error %v: want one without the password", err)
		}
		server.Close()
	}
	for _, bad := range []string{"", "localhost:9200", "ftp://elastic:hunter2@x", "http://elastic:hunter2@%zz"} {
		if _, err := NewBulk(bad, DefaultIndex); err == nil ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
	for _, bad := range []string{"", "Performance", "a b", "_x", "a/b"} {
		if _, err := NewBulk("http://x", bad); err == nil {
			t.Errorf("index %q is taken", bad)
		}
	}
}
