package main

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/reference/refchat"
	"plimsoll/target/lab/mysql"
	"plimsoll/target/lab/postgresql"
)

// TestInside finds on the target which store methods posting calls and uploading does not: these, on both databases,
// are the ones that the score counts as a part of a post.
func TestInside(t *testing.T) {
	for _, engine := range []string{"postgresql", "mysql"} {
		t.Run(engine, func(t *testing.T) {
			url := serve(t, engine)
			registry := measure.NewRegistry(1)
			c, err := api.NewClient(api.ClientConfig{URL: url, Recorder: workload.NewUser(0, 0, 1, 1, registry.Recorder(0), clock.New(time.Now())), Table: api.NewTable(registry, "")})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			ctx := t.Context()
			must := func(what any, err error) string {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				id, _ := what.(string)
				return id
			}
			must(c.Login(ctx, refchat.DefaultAdminUser, refchat.DefaultAdminPassword))
			team := must(c.CreateTeam(ctx, "crew"))
			deck, err := c.MakeChannel(ctx, team, "deck", "O")
			bot := must(c.CreateBot(ctx, "robot"))
			must(nil, errors.Join(err, c.AddTeamMembers(ctx, team, []string{bot}), c.JoinChannel(ctx, deck.ID, bot)))
			c.SetToken(must(c.CreateToken(ctx, bot))) // the users of the plan post as a bot
			upload := func() string { return must(c.Upload(ctx, deck.ID, "a.txt", "text/plain", []byte("ahoy"))) }
			post := func(files ...string) {
				must(c.Post(ctx, api.Draft{ChannelID: deck.ID, Message: "aye", FileIDs: files}))
			}
			post(upload()) // the calls that are made once are over
			uploads := grown(t, url, func() { upload() })
			file := upload()
			posts := grown(t, url, func() { post(); post(file) })
			posts = slices.DeleteFunc(posts, func(method string) bool { return slices.Contains(uploads, method) })
			if len(uploads) == 0 || !slices.Equal(posts, inside) {
				t.Errorf("posting calls %q,\nuploading %q;\nthe score takes for a part of posting %q", posts, uploads, inside)
			}
		})
	}
}

// serve runs the reference server on a database server of its own until the test ends, and returns its URL.
func serve(t *testing.T, engine string) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil { // the database runs as another user
			t.Fatal(err)
		}
	}
	var db interface {
		DSN(name string) string
		CreateDatabase(ctx context.Context, name string) error
		Stop(ctx context.Context) error
	}
	var err error
	if engine == "mysql" {
		db, err = mysql.Start(t.Context(), mysql.Config{Dir: filepath.Join(dir, "my")})
	} else {
		db, err = postgresql.Start(t.Context(), postgresql.Config{Dir: filepath.Join(dir, "pg")})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := db.CreateDatabase(t.Context(), "chat"); err != nil {
		t.Fatal(err)
	}
	s, err := refchat.New(t.Context(), refchat.Config{Listen: "127.0.0.1:0", DSN: db.DSN("chat"), Hash: "bcrypt:4"})
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(run) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + s.Addr()
}

// grown returns the store methods that f makes the target call, sorted.
func grown(t *testing.T, url string, f func()) (methods []string) {
	t.Helper()
	before := settled(t, url)
	f()
	for method, n := range settled(t, url) {
		if n > before[method] {
			methods = append(methods, method)
		}
	}
	slices.Sort(methods)
	return methods
}

// settled returns the calls once half a second has brought none: the calls in the background of a request count
// toward that request.
func settled(t *testing.T, url string) map[string]uint64 {
	t.Helper()
	was := calls(t, url)
	for range 40 {
		time.Sleep(500 * time.Millisecond)
		now := calls(t, url)
		if maps.Equal(was, now) {
			return now
		}
		was = now
	}
	t.Fatal("the target does not come to rest")
	return nil
}

// calls returns how often the target called each store method.
func calls(t *testing.T, url string) map[string]uint64 {
	t.Helper()
	resp, err := (&http.Client{Timeout: 20 * time.Second}).Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]uint64{}
	for _, m := range families["mattermost_db_store_time"].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "method" {
				n[l.GetValue()] += m.GetHistogram().GetSampleCount()
			}
		}
	}
	return n
}
