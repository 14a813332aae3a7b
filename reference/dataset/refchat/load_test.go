package refchat_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/reference/dataset"
	data "plimsoll/reference/dataset/refchat"
	"plimsoll/reference/refchat"
	"plimsoll/reference/refchat/databases"
	"plimsoll/target/lab/mysql"
	"plimsoll/target/lab/postgresql"
)

var noError = failure.None

type dbServer interface {
	DSN(db string) string
	CreateDatabase(ctx context.Context, name string) error
	Stop(ctx context.Context) error
}

// engines are the databases that every test runs on. A machine that cannot start one fails all
// tests.
var engines = map[string]dbServer{}

func TestMain(m *testing.M) {
	code, err := withEngines(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the databases:", err)
		code = 1
	}
	os.Exit(code)
}

func withEngines(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "dataset-test-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // the servers run as other users
		return 0, err
	}
	defer func() {
		for name, e := range engines {
			if serr := e.Stop(context.Background()); serr != nil && err == nil {
				err = fmt.Errorf("stopping %s: %w", name, serr)
			}
		}
	}()
	pg, err := postgresql.Start(ctx, postgresql.Config{
		Dir:      dir + "/postgresql",
		Settings: map[string]string{"fsync": "off"},
	})
	if err != nil {
		return 0, err
	}
	engines["postgresql"] = pg
	my, err := mysql.Start(ctx, mysql.Config{Dir: dir + "/mysql"})
	if err != nil {
		return 0, err
	}
	engines["mysql"] = my
	return m.Run(), nil
}

func onEngines(t *testing.T, do func(t *testing.T, dsn string)) {
	for _, name := range slices.Sorted(maps.Keys(engines)) {
		t.Run(name, func(t *testing.T) {
			db := strings.ToLower(
				strings.ReplaceAll(strings.ReplaceAll(t.Name(), "/", "_"), "#", "_"),
			)
			noError(t, engines[name].CreateDatabase(t.Context(), db))
			do(t, engines[name].DSN(db))
		})
	}
}

// connect opens a database for the test's own statements.
func connect(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, _, err := databases.Open(t.Context(), dsn, databases.Options{})
	noError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func population(t *testing.T, src string) *dataset.Population {
	t.Helper()
	s, err := dataset.ParseSpec([]byte(src))
	noError(t, err)
	p, err := dataset.New(s)
	noError(t, err)
	return p
}

// load fills a database.
func load(t *testing.T, dsn string, p *dataset.Population) data.Result {
	t.Helper()
	res, err := data.Load(t.Context(), dsn, p, data.Options{Hash: "bcrypt:4"})
	noError(t, err)
	return res
}

// serve starts the reference server on a database and returns its URL.
func serve(t *testing.T, dsn string) string {
	t.Helper()
	files := t.TempDir()
	noError(t, data.WriteFiles(files))
	ctx, cancel := context.WithCancel(context.Background())
	s, err := refchat.New(ctx, refchat.Config{
		Listen:   "127.0.0.1:0",
		DSN:      dsn,
		Hash:     "bcrypt:4",
		FilesDir: files,
	})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + s.Addr()
}

// client calls the API as one user.
type client struct {
	t     *testing.T
	url   string
	token string
	id    string
}

func (c *client) call(method, path string, in, out any) {
	c.t.Helper()
	b, err := json.Marshal(in)
	noError(c.t, err)
	req, err := http.NewRequestWithContext(
		c.t.Context(),
		method,
		c.url+"/api/v4"+path,
		bytes.NewReader(b),
	)
	noError(c.t, err)
	req.Header.Set("Authorization", "Bearer "+c.token)
	res, err := http.DefaultClient.Do(req)
	noError(c.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		c.t.Fatalf("%s %s: %v %s %v", method, path, res.Status, body, err)
	}
	if t := res.Header.Get("Token"); t != "" {
		c.token = t
	}
	if raw, ok := out.(*[]byte); ok {
		*raw = body
		return
	}
	if out != nil {
		if err := json.Unmarshal(body, out); err != nil {
			c.t.Fatalf("%s %s: %v in %s", method, path, err, body)
		}
	}
}

func login(t *testing.T, url, name string) *client {
	t.Helper()
	c := &client{t: t, url: url}
	var me struct{ ID string }
	c.call("POST", "/users/login", map[string]string{
		"login_id": name,
		"password": data.DefaultPassword,
	}, &me)
	c.id = me.ID
	return c
}

type postList struct {
	Order []string
	Posts map[string]struct {
		ID, Message string
		CreateAt    int64  `json:"create_at"`
		ChannelID   string `json:"channel_id"`
		RootID      string `json:"root_id"`
		ReplyCount  int    `json:"reply_count"`
		Metadata    struct {
			Files     []struct{ ID, Extension string }
			Reactions []struct{ UserID string }
		}
	}
}

// TestServed loads ten thousand posts and uses the reference server on them.
func TestServed(t *testing.T) {
	spec, _ := dataset.Preset("tiny")
	p, err := dataset.New(spec)
	noError(t, err)
	onEngines(t, func(t *testing.T, dsn string) {
		phases := map[string]bool{}
		res, err := data.Load(t.Context(), dsn, p, data.Options{
			Hash:     "bcrypt:4",
			Workers:  3,
			Progress: func(p data.Progress) { phases[p.Phase] = true },
		})
		noError(t, err)
		if res.Rows["posts"] != 10_000 || res.Rows["users"] != 100 || res.Indexes < 30 ||
			len(phases) != 5 {
			t.Errorf("result %+v, phases %v", res, phases)
		}
		if problems, err := data.Check(t.Context(), dsn); err != nil || len(problems) > 0 {
			t.Fatalf("%v %v", problems, err)
		}
		url := serve(t, dsn)
		c := login(t, url, p.UserName(7))
		if c.id != p.UserID(7).String() {
			t.Fatalf("logged in as %s", c.id)
		}
		team := p.TeamID(0).String()
		var channels []struct {
			ID, Name, Type string
			Total          int `json:"total_msg_count"`
		}
		c.call("GET", "/users/me/teams/"+team+"/channels", nil, &channels)
		want := map[string]bool{}
		for i := range p.Channels() {
			for k := range p.Channel(i).Members {
				if p.Member(i, k) == 7 {
					want[p.ChannelID(i).String()] = true
				}
			}
		}
		for _, ch := range channels {
			delete(want, ch.ID)
		}
		if len(want) > 0 {
			t.Errorf("the server does not list the channels %v", want)
		}
		// The largest channel, which dialects find by name: page by page, each post once and in
		// order.
		var busy struct {
			ID    string
			Total int `json:"total_msg_count"`
		}
		c.call("GET", "/teams/"+team+"/channels/name/plimsoll-000", nil, &busy)
		seen, last := map[string]bool{}, int64(1<<62)
		var thread, reacted, file string
		for page := 0; ; page++ {
			var l postList
			c.call(
				"GET",
				fmt.Sprintf("/channels/%s/posts?page=%d&per_page=200", busy.ID, page),
				nil,
				&l,
			)
			if len(l.Order) == 0 {
				break
			}
			for _, id := range l.Order {
				post := l.Posts[id]
				if seen[id] || post.CreateAt >= last || post.ChannelID != busy.ID {
					t.Fatalf("post %+v after %d", post, last)
				}
				seen[id], last = true, post.CreateAt
				if post.RootID != "" {
					thread = post.RootID
				}
				if len(post.Metadata.Reactions) > 0 {
					reacted = id
				}
				if len(post.Metadata.Files) > 0 {
					file = post.Metadata.Files[0].ID
				}
			}
		}
		if len(seen) != busy.Total || len(seen) < 500 {
			t.Errorf("read %d posts, the channel has %d", len(seen), busy.Total)
		}
		if thread == "" || reacted == "" || file == "" {
			t.Fatalf(
				"no thread %q, reaction %q or file %q in %d posts",
				thread,
				reacted,
				file,
				len(seen),
			)
		}
		var l postList
		c.call("GET", "/posts/"+thread+"/thread", nil, &l)
		if n := l.Posts[thread].ReplyCount; n == 0 || n != len(l.Posts)-1 {
			t.Errorf("the thread has %d posts, its root says %d replies", len(l.Posts), n)
		}
		var content []byte
		c.call("GET", "/files/"+file, nil, &content)
		if len(content) < 10_000 {
			t.Errorf("the file has %d bytes", len(content))
		}
		word := strings.Fields(l.Posts[thread].Message)[0]
		if n := found(t, dsn, word); n == 0 {
			t.Errorf("searching for %q finds nothing", word)
		}
		// It is a database to work with.
		var post struct{ ID string }
		c.call("POST", "/posts", map[string]string{
			"channel_id": busy.ID,
			"message":    "hello",
			"root_id":    thread,
		}, &post)
		c.call("POST", "/reactions", map[string]string{
			"user_id":    c.id,
			"post_id":    post.ID,
			"emoji_name": "heart",
		}, nil)
		if problems, err := data.Check(t.Context(), dsn); err != nil || len(problems) > 0 {
			t.Errorf("after a post: %v %v", problems, err)
		}
	})
}

// found counts the posts that the full-text index finds.
func found(t *testing.T, dsn, word string) (n int) {
	t.Helper()
	query := "SELECT COUNT(*) FROM posts WHERE MATCH (message) AGAINST ('" + word + "')"
	if strings.HasPrefix(dsn, "postgres") {
		query = "SELECT COUNT(*) FROM posts WHERE to_tsvector('english', message) @@ plainto_tsquery('english', '" + word + "')"
	}
	noError(t, connect(t, dsn).QueryRowContext(t.Context(), query).Scan(&n))
	return n
}

// TestAsTheServer compares the server's values of columns with those of the loader.
func TestAsTheServer(t *testing.T) {
	p := population(t, "{name: few, users: 20, channels: 30, posts: 400, history: 10d}")
	onEngines(t, func(t *testing.T, dsn string) {
		load(t, dsn, p)
		url, db := serve(t, dsn), connect(t, dsn)
		admin := &client{t: t, url: url}
		admin.call("POST", "/users/login", map[string]string{
			"login_id": refchat.DefaultAdminUser,
			"password": refchat.DefaultAdminPassword,
		}, nil)
		var u, ch struct{ ID string }
		admin.call("POST", "/users", map[string]string{
			"username": "fresh",
			"email":    "fresh@example.com",
			"password": data.DefaultPassword,
		}, &u)
		team := p.TeamID(0).String()
		admin.call("POST", "/teams/"+team+"/members", map[string]string{
			"team_id": team,
			"user_id": u.ID,
		}, nil)
		fresh := login(t, url, "fresh")
		fresh.call("POST", "/channels/direct", []string{u.ID, p.UserID(3).String()}, &ch)
		fresh.call("POST", "/posts", map[string]string{
			"channel_id": ch.ID,
			"message":    "plain",
		}, nil)
		same := func(table, columns, where string, a, b string) {
			t.Helper()
			cell := func(id string) string {
				var parts []string
				for col := range strings.SplitSeq(columns, ", ") {
					var s sql.NullString
					noError(
						t,
						db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT %s FROM %s WHERE %s = '%s' ORDER BY 1 LIMIT 1", col, table, where, id)).
							Scan(&s),
					)
					parts = append(parts, fmt.Sprint(col, " ", s.Valid, " ", s.String))
				}
				return strings.Join(parts, "\n")
			}
			if x, y := cell(a), cell(b); x != y {
				t.Errorf("table %s: the server writes\n%s\nand the loader\n%s", table, x, y)
			}
		}
		direct := 0
		for p.Channel(direct).Type != dataset.Direct {
			direct++
		}
		dm := p.ChannelID(direct).String()
		same(
			"users",
			"authservice, emailverified, nickname, roles, allowmarketing, props, notifyprops, lastpictureupdate, failedattempts, locale, timezone, lastlogin, deleteat",
			"id",
			u.ID,
			p.UserID(5).String(),
		)
		same("teammembers", "roles, deleteat, schemeuser, schemeadmin, schemeguest", "userid", u.ID,
			p.UserID(5).String())
		same(
			"channels",
			"deleteat, teamid, type, displayname, header, purpose, extraupdateat",
			"id",
			ch.ID,
			dm,
		)
		same(
			"channelmembers",
			"roles, notifyprops, schemeuser, schemeadmin, schemeguest",
			"channelid",
			ch.ID,
			dm,
		)
		var c dataset.Chunk
		p.Chunk(0, &c)
		i := slices.IndexFunc(c.Posts,
			func(x dataset.Post) bool { return x.Root < 0 && x.Files == 0 && !x.Reacted })
		same(
			"posts",
			"editat, deleteat, ispinned, rootid, parentid, originalid, type, props, hashtags, fileids, hasreactions",
			"id",
			postOf(t, db, ch.ID),
			c.ID(i).String(),
		)
	})
}

func postOf(t *testing.T, db *sql.DB, channel string) (id string) {
	t.Helper()
	noError(
		t,
		db.QueryRowContext(t.Context(), "SELECT id FROM posts WHERE channelid = '"+channel+"'").
			Scan(&id),
	)
	return id
}

// TestEveryColumn fails when the server's tables have columns that the loader leaves empty without
// a reason.
func TestEveryColumn(t *testing.T) {
	// As the server does.
	empty := map[string]bool{
		"users.authdata":    true,
		"teams.schemeid":    true,
		"channels.schemeid": true,
	}
	p := population(
		t,
		"{name: few, users: 20, channels: 30, posts: 2000, history: 10d, files: 20%}",
	)
	onEngines(t, func(t *testing.T, dsn string) {
		res := load(t, dsn, p)
		db := connect(t, dsn)
		for table := range res.Rows {
			rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+table+" LIMIT 1")
			noError(t, err)
			names, err := rows.Columns()
			noError(t, err)
			rows.Close()
			for _, col := range names {
				var n int
				noError(
					t,
					db.QueryRowContext(t.Context(), "SELECT COUNT("+col+") FROM "+table).Scan(&n),
				)
				if n == 0 && !empty[table+"."+col] {
					t.Errorf(
						"nothing fills the column %s of table %s: reference/dataset/refchat must",
						col,
						table,
					)
				}
			}
		}
	})
}

// TestSchemaIsTheServers holds every index and key after a load to those of a database that the
// server made.
func TestSchemaIsTheServers(t *testing.T) {
	p := population(t, "{name: few, users: 20, channels: 30, posts: 100, history: 10d}")
	onEngines(t, func(t *testing.T, dsn string) {
		load(t, dsn, p)
		loaded := schemaOf(t, dsn)
		eng := strings.TrimPrefix(t.Name(), "TestSchemaIsTheServers/")
		noError(t, engines[eng].CreateDatabase(t.Context(), "fresh"))
		noError(t, refchat.Migrate(t.Context(), engines[eng].DSN("fresh")))
		want := schemaOf(t, engines[eng].DSN("fresh"))
		for name, def := range want {
			if loaded[name] != def {
				t.Errorf("%s: loaded %q, the server makes %q", name, loaded[name], def)
			}
		}
		if len(loaded) != len(want) || len(want) < 40 {
			t.Errorf("%d indexes and keys, the server makes %d", len(loaded), len(want))
		}
	})
}

func schemaOf(t *testing.T, dsn string) map[string]string {
	t.Helper()
	query := `SELECT CONCAT(table_name, '.', index_name), CONCAT(GROUP_CONCAT(column_name ORDER BY seq_in_index), MAX(non_unique), MAX(index_type))
		FROM information_schema.statistics WHERE table_schema = DATABASE() GROUP BY table_name, index_name`
	if strings.HasPrefix(dsn, "postgres") {
		query = `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' UNION ALL
			SELECT 'key ' || conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace`
	}
	rows, err := connect(t, dsn).QueryContext(t.Context(), query)
	noError(t, err)
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var k, v string
		noError(t, rows.Scan(&k, &v))
		out[k] = v
	}
	noError(t, rows.Err())
	return out
}

// TestBrokenLoad ends a load in the middle: nothing is left, and a partial load is never taken for
// whole.
func TestBrokenLoad(t *testing.T) {
	p := population(t, "{name: few, users: 50, channels: 90, posts: 3000, history: 10d}")
	onEngines(t, func(t *testing.T, dsn string) {
		for _, phase := range []string{"schema", "rows", "indexes"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := fmt.Errorf("stopped in %s", phase)
			_, err := data.Load(ctx, dsn, p, data.Options{
				Hash: "bcrypt:4",
				Progress: func(p data.Progress) {
					if p.Phase == phase {
						cancel(stop)
					}
				},
			})
			cancel(nil)
			if err == nil {
				t.Fatalf("%s: a load that was stopped succeeded", phase)
			}
		}
		load(t, dsn, p) // it is empty after broken loads, and full then
		_, err := data.Load(t.Context(), dsn, p, data.Options{Hash: "bcrypt:4"})
		failure.Says(t, err, "name an empty one")
		db := connect(t, dsn)
		if _, err := db.ExecContext(t.Context(), "UPDATE systems SET value = 'loading' WHERE name = 'schema'"); err != nil {
			t.Fatal(err)
		}
		if problems, err := data.Check(t.Context(), dsn); err != nil || len(problems) != 1 ||
			!strings.Contains(problems[0], "cut short") {
			t.Errorf("a half-loaded database: %v %v", problems, err)
		}
		if _, err := refchat.New(t.Context(), refchat.Config{
			Listen: "127.0.0.1:0",
			DSN:    dsn,
		}); err == nil {
			t.Error("the server starts on a half-loaded database")
		}
	})
}

// TestCheckFinds breaks a loaded database in one way after the other.
func TestCheckFinds(t *testing.T) {
	p := population(
		t,
		"{name: few, users: 60, channels: 300, posts: 3000, history: 10d, files: 10%}",
	)
	onEngines(t, func(t *testing.T, dsn string) {
		load(t, dsn, p)
		db := connect(t, dsn)
		for _, c := range []struct{ breaks, undo, want string }{
			{"UPDATE threads SET replycount = replycount + 1",
				"UPDATE threads SET replycount = replycount - 1", "number of replies"},
			{"UPDATE threads SET lastreplyat = lastreplyat + 1",
				"UPDATE threads SET lastreplyat = lastreplyat - 1", "at another time"},
			{"UPDATE channels SET totalmsgcount = totalmsgcount + 1",
				"UPDATE channels SET totalmsgcount = totalmsgcount - 1", "another number of posts"},
			{"UPDATE channelmembers SET msgcount = msgcount + 9999",
				"UPDATE channelmembers SET msgcount = msgcount - 9999", "read more than there is"},
			{"UPDATE posts SET rootid = id WHERE rootid <> ''",
				"UPDATE posts SET rootid = parentid WHERE rootid <> ''", "without a root"},
			{"UPDATE posts SET hashtags = fileids, fileids = '[]' WHERE fileids <> '[]'",
				"UPDATE posts SET fileids = hashtags WHERE hashtags <> ''", "do not name them"},
			{"UPDATE reactions SET postid = CONCAT('yy', SUBSTRING(postid, 3)), emojiname = postid",
				"UPDATE reactions SET postid = emojiname", "say they have none"},
			{"DELETE FROM teammembers", "", "not in the team"},
			{"UPDATE users SET id = CONCAT('0', SUBSTRING(id, 2))", "", "no users"},
			{"DELETE FROM channelmembers", "", "no member"},
			{"DELETE FROM channels", "", "channels that are not there"},
		} {
			if _, err := db.ExecContext(t.Context(), c.breaks); err != nil {
				t.Fatalf("%s: %v", c.breaks, err)
			}
			problems, err := data.Check(t.Context(), dsn)
			if err != nil || !strings.Contains(strings.Join(problems, "\n"), c.want) {
				t.Errorf("%s: found %q, want %q (%v)", c.breaks, problems, c.want, err)
			}
			if c.undo != "" {
				if _, err := db.ExecContext(t.Context(), c.undo); err != nil {
					t.Fatalf("%s: %v", c.undo, err)
				}
			}
		}
	})
}

func TestAnUnknownHash(t *testing.T) {
	p := population(t, "{name: few, users: 20, channels: 30, posts: 100, history: 10d}")
	_, err := data.Load(t.Context(), "mysql://", p, data.Options{Hash: "rot13"})
	failure.Says(t, err, "rot13")
}
