package mattermost

import (
	"cmp"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

const (
	anID    = "abcdefghijklmnopqrstuvwxyz"
	otherID = "zyxwvutsrqponmlkjihgfedcba"
)

// turn is held by the handler of a server that shares variables with its test, and is passed by the
// client before a request and after it: the network alone is not an order that the race detector
// knows.
var turn sync.Mutex

func passTurn() {
	turn.Lock()
	defer turn.Unlock()
}

// serve starts a server and returns its address.
func serve(t testing.TB, h http.HandlerFunc) (addr string) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// passing returns a handler that passes requests on to a server.
func passing(t testing.TB, target string) http.Handler {
	t.Helper()
	u, err := url.Parse(target)
	noError(t, err)
	return httputil.NewSingleHostReverseProxy(u)
}

// inTurn starts a server whose handler may use the variables of a test that waits for each answer.
func inTurn(t testing.TB, h http.HandlerFunc) (addr string) {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		turn.Lock()
		defer turn.Unlock()
		h(w, r)
	})
}

// noError ends a test by an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// userOf is the user of a rank. It records if the environment has a registry.
func userOf(env workload.Env, rank int) *workload.User {
	var rec *measure.Recorder
	if env.Registry != nil {
		rec = env.Registry.Recorder(rank)
	}
	return workload.NewUser(rank, rank, max(env.Seed, 1), cmp.Or(env.Pace, 1), rec,
		clock.New(time.Now()))
}

func newActor(
	t testing.TB, b workload.Behavior, env workload.Env, u *workload.User,
) workload.Actor {
	t.Helper()
	a, err := b.NewActor(env, u)
	noError(t, err)
	return a
}

// lone is a person with a session, whose behavior was not provisioned: user 0 of an environment,
// which gets a registry and, unless it has them, a minute for each call and the pace of a test.
func lone(t testing.TB, env *workload.Env, set settings) *person {
	t.Helper()
	env.Registry = measure.NewRegistry(1)
	env.Timeout, env.Pace = cmp.Or(env.Timeout, time.Minute), cmp.Or(env.Pace, 0.001)
	b := &Person{set: set, dir: newDirectory(), found: found{
		Team: "t", Channels: []string{"c"},
		accounts: accounts{IDs: []string{"me"}, Tokens: []string{"tok"}},
	}}
	return newActor(t, b, *env, userOf(*env, 0)).(*person)
}

func newTestClient(t *testing.T, url string) *api.Client {
	t.Helper()
	reg := measure.NewRegistry(1)
	c, err := api.NewClient(api.Options{
		URL: url, Token: "tok", Timeout: 1500 * time.Millisecond,
		Recorder: userOf(workload.Env{Registry: reg}, 0), Table: api.NewTable(reg, ""),
	})
	noError(t, err)
	t.Cleanup(c.Close)
	return c
}

// The poster must make exactly the requests of the study's Locust file.
func TestPosterOnTheWire(t *testing.T) {
	var mu sync.Mutex
	var posts, uploads int
	var last string
	post := regexp.MustCompile(`^\{"channel_id":"` + anID +
		`","message":"(Test message: [a-zA-Z0-9 ]{10}|File upload test (\d+)","file_ids":\["` + otherID +
		`"\]\})`)
	file := regexp.MustCompile(`^Test file (\d+)\n[a-zA-Z0-9 ]{100}$`)
	addr := inTurn(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer bot-secret" ||
			r.Header.Get("User-Agent") != posterAgent || r.Method != "POST" {
			t.Errorf("request %s %s with headers %v", r.Method, r.URL, r.Header)
		}
		switch r.URL.Path {
		case "/api/v4/posts":
			b, _ := io.ReadAll(r.Body)
			m := post.FindSubmatch(b)
			if m == nil || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("post %s", b)
				return
			}
			if (last != "") != (len(m[2]) > 0) || last != string(m[2]) {
				t.Errorf("post %s after upload %q", b, last)
			}
			files := ""
			if last != "" {
				files = `,"file_ids":["` + otherID + `"]`
			} else {
				posts++
			}
			last = ""
			w.WriteHeader(201)
			io.WriteString(w, `{"id":"`+anID+`","create_at":7,"channel_id":"`+anID+`"`+files+`}`)
		case "/api/v4/files":
			_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
			part, err := multipart.NewReader(r.Body, params["boundary"]).NextPart()
			if err != nil || r.URL.RawQuery != "channel_id="+anID {
				t.Errorf("upload to %s: %v", r.URL, err)
				return
			}
			b, _ := io.ReadAll(part)
			m := file.FindSubmatch(b)
			if m == nil || part.FormName() != "files" ||
				part.FileName() != "test_"+string(m[1])+".txt" ||
				part.Header.Get("Content-Type") != "text/plain" {
				t.Errorf("upload %q as %q %q", b, part.FormName(), part.FileName())
				return
			}
			last = string(m[1])
			uploads++
			w.WriteHeader(201)
			io.WriteString(w, `{"file_infos":[{"id":"`+otherID+`","size":`+itoa(len(b))+
				`}],"client_ids":[]}`)
		default:
			w.WriteHeader(404)
		}
	})
	reg := measure.NewRegistry(1)
	env := workload.Env{URL: addr, Pace: 1, Registry: reg, Timeout: time.Minute,
		Ledger: workload.NewLedger(0, 1)}
	p := &Poster{posting: posting{Channels: []string{anID}, Token: "bot-secret"}}
	u := userOf(workload.Env{Registry: reg}, 0)
	a := newActor(t, p, env, u)
	defer a.Close()
	const acts = 2500
	for range acts {
		if d := a.Think(); d < 4*time.Second || d >= 6*time.Second {
			t.Fatalf("think time %v, want 4s to 6s", d)
		}
		noError(t, a.Act(t.Context()))
	}
	passTurn()
	// 100 expected, standard deviation 9.8.
	if posts+uploads != acts || uploads < 60 || uploads > 140 {
		t.Errorf("%d posts and %d uploads in %d actions, want 24:1", posts, uploads, acts)
	}
	counts := map[string]uint64{}
	for _, w := range reg.Cut() {
		counts[w.Name] = w.Classes[measure.OK]
		if w.Errors() != 0 {
			t.Errorf("%s: %d errors", w.Name, w.Errors())
		}
	}
	if counts["post"] != acts || counts["upload"] != uint64(uploads) || len(counts) != 2 {
		t.Errorf("recorded %v", counts)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
