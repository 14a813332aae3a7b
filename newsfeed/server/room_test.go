package server_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"plimsoll/newsfeed/server"
)

// sql opens a second connection to the feed's database.
func (f *feed) sql() *sql.DB {
	f.t.Helper()
	driver, dsn := "pgx", f.dsn
	if rest, ok := strings.CutPrefix(f.dsn, "mysql://"); ok {
		driver, dsn = "mysql", rest
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		f.t.Fatal("the DSN cannot be opened")
	}
	f.t.Cleanup(func() { db.Close() })
	return db
}

func statements(t testing.TB, db *sql.DB, list ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, s := range list {
		if _, err := db.ExecContext(ctx, s); err != nil {
			t.Fatalf("%.80s: %v", s, err)
		}
	}
}

// rows requests the row counts of the stores.
func (f *feed) rows() map[string]map[string]int64 {
	f.t.Helper()
	var r server.Rows
	f.ok("GET", "/rows", nil, &r)
	if len(r.Untold) > 0 {
		f.t.Fatalf("stores that do not tell their rows: %v", r.Untold)
	}
	return r.Stores
}

// told requires a telemetry record of a request that a store has failed.
func (f *feed) told(entity string, status int, store string) {
	f.t.Helper()
	eventually(
		f.t,
		fmt.Sprintf("telemetry of %s with status %d for %q", entity, status, store),
		func() bool {
			return slices.ContainsFunc(f.records(), func(r server.Record) bool {
				return r.Entity == entity && r.Operation == "post" && r.Status == status &&
					r.Store == store
			})
		},
	)
}

// refused requires that the database takes no rows, with this status and no word of its insides,
// that requests without a new row go on, and that nothing was stored.
func (f *feed) refused(a, b int64, want int, posts bool) {
	f.t.Helper()
	before := f.rows()["database"]
	for entity, body := range map[string]object{
		"participant": {"name": "x"},
		"friends":     {"from": a, "to": b},
	} {
		status, text := f.do("POST", "/"+entity+"/new", body)
		if status != want || !strings.Contains(text, `"database"`) {
			f.t.Errorf("%s: %d %s, want %d and the store's role", entity, status, text, want)
		}
		if strings.Contains(text, "device") || strings.Contains(text, "base/") ||
			strings.Contains(strings.ToLower(text), "table") {
			f.t.Errorf("%s: the client is told %s", entity, text)
		}
		f.told(entity, want, "database")
	}
	if after := f.rows()["database"]; fmt.Sprint(after) != fmt.Sprint(before) {
		f.t.Errorf("rows %v, want those of before, %v", after, before)
	}
	if !posts {
		return
	}
	status, text := f.do("POST", "/outbound/new", object{
		"from":    a,
		"subject": "s",
		"story":   "meanwhile",
	})
	if status != 200 {
		f.t.Errorf("a story, for which the database only reads: %d %s", status, text)
	}
	if !slices.ContainsFunc(f.inbound(b), func(e entry) bool { return e.Story == "meanwhile" }) {
		f.t.Error("an acknowledged story has not gone out")
	}
}

// again requires that everything goes on, without a restart.
func (f *feed) again(a int64) {
	f.t.Helper()
	eventually(f.t, "a participant after it", func() bool {
		status, _ := f.do("POST", "/participant/new", object{"name": "after"})
		return status == 200
	})
	c := f.person("c")
	f.befriend(c, a)
	if l := f.friends(a); len(l) != 2 {
		f.t.Errorf("%d friends after it, want 2", len(l))
	}
	f.ok("POST", "/outbound/new", object{"from": a, "subject": "s", "story": "afterwards"}, nil)
	if l := f.inbound(c); len(l) != 1 || l[0].Story != "afterwards" {
		f.t.Errorf("inbound %v, want the story", l)
	}
}

// TestADatabaseThatRefuses gives the engines' own answers: a full disk, in all forms in which they
// report it, is 507; no memory, too many connections and being read-only are 503.
func TestADatabaseThatRefuses(t *testing.T) {
	type answer struct {
		code, text string
		want       int
	}
	onBoth(t, func(t *testing.T, engine string) {
		f := start(t, engine, server.Config{Index: server.IndexCommit})
		db := f.sql()
		answers := []answer{
			{"53100", `could not extend file "base/16384/16385": No space left on device`, 507},
			{"53200", "out of memory", 503},
			{
				"53300",
				"too many connections",
				503,
			},
			{"25006", "cannot execute INSERT in a read-only transaction", 503},
		}
		tables := []string{"participant", "friends"}
		if engine == "mysql" {
			answers = []answer{
				{"1114", "The table Participant is full", 507},
				{"1021", "Disk full (/var); waiting for someone to free some space", 507},
				{
					"1030",
					`Got error 28 "No space left on device" from storage engine InnoDB`,
					507,
				},
				{"1030", `Got error 168 "Unknown (generic) error from engine"`, 503},
				{
					"1290",
					"The server is running with the --read-only option",
					503,
				},
			}
			tables = []string{"Participant", "Friends"}
		}
		for _, x := range answers {
			a, b := f.person("a"), f.person("b")
			f.befriend(a, b)
			for _, table := range tables {
				if engine == "mysql" {
					statements(
						t,
						db,
						fmt.Sprintf(
							`CREATE TRIGGER refuse_%[1]s BEFORE INSERT ON %[1]s FOR EACH ROW SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = %[2]s, MESSAGE_TEXT = '%[3]s'`,
							table,
							x.code,
							x.text,
						),
					)
					continue
				}
				statements(
					t,
					db,
					fmt.Sprintf(
						`CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '%s' USING ERRCODE = '%s'; END $$`,
						x.text,
						x.code,
					),
					fmt.Sprintf(
						`CREATE TRIGGER refuse BEFORE INSERT ON %s FOR EACH ROW EXECUTE FUNCTION refuse()`,
						table,
					),
				)
			}
			f.refused(a, b, x.want, true)
			for _, table := range tables {
				if engine == "mysql" {
					statements(t, db, "DROP TRIGGER refuse_"+table)
				} else {
					statements(t, db, "DROP TRIGGER refuse ON "+table)
				}
			}
			f.again(a)
		}
	})
}

// TestAFullBus fails no request: the records wait, and none is lost before there are too many.
func TestAFullBus(t *testing.T) {
	bus, _ := store(t, server.StoreConfig{Kind: server.KindBus, Most: 3000})
	f := start(t, "postgresql", server.Config{Bus: bus})
	for range 60 {
		f.person("x")
	}
	eventually(t, "records that wait, and none that is lost", func() bool {
		sent := f.metric("newsfeed_telemetry_sent_total")
		waiting := f.metric("newsfeed_telemetry_waiting")
		return waiting > 0 && sent+waiting == 60 && float64(f.rows()["bus"]["records"]) == sent &&
			f.metric("newsfeed_telemetry_lost_total") == 0
	})
}

// metric reads one number without labels.
func (f *feed) metric(name string) float64 {
	f.t.Helper()
	res, err := http.Get(f.url + "/metrics")
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		v := 0.0
		if n, _ := fmt.Sscanf(line, name+" %g", &v); n == 1 {
			return v
		}
	}
	f.t.Fatalf("there is no metric %s", name)
	return 0
}

// TestAStoreIsKilled kills each own store and starts it again on its files: the same server goes
// on, and acknowledged data is there.
func TestAStoreIsKilled(t *testing.T) {
	for _, kind := range []string{server.KindWide, server.KindSearch} {
		t.Run(kind, func(t *testing.T) {
			cfg := server.StoreConfig{Kind: kind, Dir: t.TempDir()}
			addr, running := store(t, cfg)
			conf := server.Config{Index: server.IndexCommit}
			map[string]func(){
				server.KindWide:   func() { conf.Wide = addr },
				server.KindSearch: func() { conf.Search = addr },
			}[kind]()
			f := start(t, "postgresql", conf)
			a, b := f.person("a"), f.person("b")
			f.befriend(a, b)
			f.ok("POST", "/outbound/new", object{"from": a, "subject": "s", "story": "before"}, nil)
			running.stop(t)
			if status, text := f.do("POST", "/outbound/new", object{
				"from":    a,
				"subject": "s",
				"story":   "without",
			}); status != 503 || !strings.Contains(text, kind) {
				t.Errorf("without it: %d %s, want 503 and its role", status, text)
			}
			f.told("outbound", 503, kind)
			cfg.Listen = addr
			store(t, cfg)
			eventually(t, "a story after it", func() bool {
				status, _ := f.do("POST", "/outbound/new", object{
					"from":    a,
					"subject": "s",
					"story":   "after",
				})
				return status == 200
			})
			stories := map[string]bool{}
			for _, e := range f.inbound(b) {
				stories[e.Story] = true
			}
			for _, word := range []string{"before", "after"} {
				var senders []string
				f.ok("GET", "/outbound?keywords="+word, nil, &senders)
				if !stories[word] || len(senders) != 1 {
					t.Errorf("story %q: received %v, found %v", word, stories[word], senders)
				}
			}
		})
	}
}

// TestRows: every acknowledged thing is one row where it belongs, and the request for counts leaves
// no telemetry.
func TestRows(t *testing.T) {
	onBoth(t, func(t *testing.T, engine string) {
		f := start(t, engine, server.Config{})
		a := f.person("a")
		b := f.person("b")
		c := f.person("c")
		f.befriend(a, b)
		f.befriend(a, c)
		f.befriend(b, a) // once more
		f.ok("POST", "/outbound/new", object{"from": a, "subject": "s", "story": "one"}, nil)
		f.ok("POST", "/outbound/new", object{"from": c, "subject": "s", "story": "two"}, nil)
		want := "map[bus:map[records:8] database:map[friendships:3 participants:3] search:map[documents:2] wide:map[inbound:3 outbound:2]]"
		eventually(t, "rows "+want, func() bool { return fmt.Sprint(f.rows()) == want })
	})
}
