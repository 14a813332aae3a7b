package refchat_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"plimsoll/internal/failure"
	"plimsoll/reference/refchat"
)

var noError = failure.None

// client is a caller of the API with a token.
type client struct {
	t     testing.TB
	url   string
	token string
	id    string // of the user
	http  *http.Client
}

func newClient(t testing.TB, s *refchat.Server) *client {
	t.Helper()
	tr := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(tr.CloseIdleConnections)
	return &client{
		t:    t,
		url:  "http://" + s.Addr(),
		http: &http.Client{Transport: tr, Timeout: 20 * time.Second},
	}
}

// answer is a response with its body read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send makes one request; a body that is not a reader is sent as JSON.
func (c *client) send(method, path string, body any) answer {
	c.t.Helper()
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		noError(c.t, err)
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, c.url+"/api/v4"+path, r)
	noError(c.t, err)
	return c.do(req)
}

// written is the millisecond in which the latest write of any client was answered. The server's
// instants are milliseconds, and lists are ordered by them: a write begins in a later one than the
// write before it, so that tests know which came first.
var written atomic.Int64

func (c *client) do(req *http.Request) answer {
	c.t.Helper()
	if req.Method != http.MethodGet {
		for time.Now().UnixMilli() <= written.Load() {
			time.Sleep(50 * time.Microsecond)
		}
		defer func() { written.Store(time.Now().UnixMilli()) }()
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	noError(c.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	noError(c.t, err)
	return answer{resp.StatusCode, resp.Header, b}
}

// want makes a request, checks its status and decodes the answer into a T.
func want[T any](c *client, status int, method, path string, body any) T {
	c.t.Helper()
	a := c.send(method, path, body)
	var v T
	if a.status != status {
		c.t.Fatalf("%s %s: status %d, want %d: %s", method, path, a.status, status, a.body)
	}
	if err := json.Unmarshal(a.body, &v); err != nil {
		c.t.Fatalf("%s %s: %v in %s", method, path, err, a.body)
	}
	return v
}

type obj = map[string]any

// get makes a GET that must succeed.
func (c *client) get(path string) obj {
	c.t.Helper()
	return c.ok("GET", path, nil)
}

// ok makes a request that must succeed.
func (c *client) ok(method, path string, body any) obj {
	c.t.Helper()
	return want[obj](c, 200, method, path, body)
}

// create makes a POST that must create something.
func (c *client) create(path string, body any) obj {
	c.t.Helper()
	return want[obj](c, 201, "POST", path, body)
}

// forbidden makes a request that the caller may not make.
func (c *client) forbidden(method, path string, body any) {
	c.t.Helper()
	c.fails(403, "api.context.permissions.app_error", method, path, body)
}

// badBody makes a request whose body must be refused.
func (c *client) badBody(method, path string, body any) {
	c.t.Helper()
	c.fails(400, "api.context.invalid_body_param.app_error", method, path, body)
}

// badURL makes a request whose address must be refused.
func (c *client) badURL(method, path string, body any) {
	c.t.Helper()
	c.fails(400, "api.context.invalid_url_param.app_error", method, path, body)
}

// shows is gives for a GET.
func (c *client) shows(path string, values ...any) obj {
	c.t.Helper()
	return c.gives(200, "GET", path, nil, values...)
}

// made has a POST create something, and returns its id.
func (c *client) made(path string, body any) string {
	c.t.Helper()
	return text(c.create(path, body)["id"])
}

// some is a value of which a test wants no more than that there is one.
type anyValue struct{}

var some anyValue

// gives makes a request, checks its status and values in its answer, which it returns if that is an
// object: pairs of a place and a value. A place is names and indices with dots between; # is how
// many there are.
func (c *client) gives(status int, method, path string, body any, values ...any) obj {
	c.t.Helper()
	answer := want[any](c, status, method, path, body)
	holds(c.t, method+" "+path, answer, values...)
	o, _ := answer.(obj)
	return o
}

// holds checks values in v, as it is in JSON; see gives.
func holds(t testing.TB, what string, v any, values ...any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		v = nil
		err = json.Unmarshal(b, &v)
	}
	noError(t, err)
	for i := 0; i < len(values); i += 2 {
		place := values[i].(string)
		got := at(v, place)
		if values[i+1] == some {
			if s := fmt.Sprint(got); s == "" || s == "0" || got == nil {
				t.Errorf("%s: %s is %q, want something: %v", what, place, s, v)
			}
		} else if x, y := fmt.Sprint(got), fmt.Sprint(whole(values[i+1])); x != y {
			t.Errorf("%s: %s is %s, want %s: %v", what, place, x, y, v)
		}
	}
}

// at returns the value at a place, nil if there is none.
func at(v any, place string) any {
	for key := range strings.SplitSeq(place, ".") {
		i, _ := strconv.Atoi(key)
		switch x := v.(type) {
		case obj:
			if v = x[key]; key == "#" {
				v = len(x)
			}
		case []any:
			switch {
			case key == "#":
				v = len(x)
			case i < len(x):
				v = x[i]
			default:
				return nil
			}
		default:
			if v == nil && key == "#" {
				return 0
			}
			return nil
		}
	}
	return whole(v)
}

// whole returns a number without a fraction as an integer.
func whole(v any) any {
	if f, ok := v.(float64); ok && f == float64(int64(f)) {
		return int64(f)
	}
	return v
}

// fails makes a request that must fail with a status and an error id.
func (c *client) fails(status int, id, method, path string, body any) {
	c.t.Helper()
	e := want[obj](c, status, method, path, body)
	if e["id"] != id || e["status_code"] != float64(status) || e["message"] == "" ||
		e["request_id"] == "" {
		c.t.Errorf("%s %s: error %v, want id %s", method, path, e, id)
	}
}

func idOf(o obj) string { return text(o["id"]) }

func text(v any) string {
	s, _ := v.(string)
	return s
}

// login logs in and keeps the token.
func (c *client) login(name, password string) *client {
	c.t.Helper()
	a := c.send("POST", "/users/login", obj{"login_id": name, "password": password})
	if a.status != 200 {
		c.t.Fatalf("login %s: %d %s", name, a.status, a.body)
	}
	id := idOf(decode(c.t, string(a.body)))
	return &client{t: c.t, url: c.url, http: c.http, token: a.header.Get("Token"), id: id}
}

// world is a server with an administrator, two users ann and bob in one team and an open channel
// with both.
type world struct {
	s             *refchat.Server
	anon          *client
	admin         *client
	ann, bob      *client
	team, channel string
}

func newWorld(t testing.TB, cfg refchat.Config) *world {
	t.Helper()
	s := serve(t, cfg)
	w := &world{s: s, anon: newClient(t, s)}
	w.admin = w.anon.login(refchat.DefaultAdminUser, refchat.DefaultAdminPassword)
	w.ann, w.bob = w.addUser("ann"), w.addUser("bob")
	team := w.admin.create("/teams",
		obj{"name": "crew", "display_name": "Crew", "type": "O", "allow_open_invite": true})
	w.team = idOf(team)
	ch := w.admin.create("/channels",
		obj{"team_id": w.team, "name": "deck", "display_name": "Deck", "type": "O"})
	w.channel = idOf(ch)
	for _, c := range []*client{w.ann, w.bob} {
		w.join(c, c.id)
		c.made("/channels/"+w.channel+"/members", obj{"user_id": c.id})
	}
	return w
}

// join has a client make a user a member of the team.
func (w *world) join(c *client, id string) {
	c.t.Helper()
	c.made("/teams/"+w.team+"/members", obj{"team_id": w.team, "user_id": id})
}

// cabin is a private channel that ann makes.
func (w *world) cabin() string {
	w.ann.t.Helper()
	return w.ann.made("/channels",
		obj{"team_id": w.team, "name": "cabin", "display_name": "Cabin", "type": "P"})
}

// direct is the channel of ann and bob.
func (w *world) direct() string {
	w.ann.t.Helper()
	return w.ann.made("/channels/direct", []string{w.ann.id, w.bob.id})
}

// plainWorld is a world on PostgreSQL with a server as it comes.
func plainWorld(t testing.TB) *world {
	t.Helper()
	return newWorld(t, refchat.Config{DSN: database(t, "postgresql")})
}

// onWorlds runs a test in a world of each engine.
func onWorlds(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	onFaulty(t, fn)
}

// onFaulty runs a test in a world of each engine whose server has faults.
func onFaulty(t *testing.T, fn func(t *testing.T, w *world), faults ...string) {
	t.Helper()
	onBoth(t, func(t *testing.T, dsn string) {
		fn(t, newWorld(t, refchat.Config{DSN: dsn, Faults: faults}))
	})
}

// faulty is a world whose server has a fault.
func faulty(t testing.TB, fault string) *world {
	t.Helper()
	return newWorld(t, refchat.Config{DSN: database(t, "postgresql"), Faults: []string{fault}})
}

func (w *world) metric(name string, labels ...string) float64 {
	w.anon.t.Helper()
	return w.anon.metric(name, labels...)
}

func (w *world) addUser(name string) *client {
	w.anon.t.Helper()
	w.anon.made("/users",
		obj{"username": name, "email": name + "@example.com", "password": "Password-1"})
	return w.anon.login(name, "Password-1")
}

// addBot makes a bot that is a member of team and channel.
func (w *world) addBot(name string) *client {
	w.anon.t.Helper()
	b := w.admin.create("/bots", obj{"username": name, "display_name": "A bot"})
	id := text(b["user_id"])
	tok := w.admin.ok("POST", "/users/"+id+"/tokens", obj{"description": "test"})
	w.join(w.admin, id)
	w.admin.made("/channels/"+w.channel+"/members", obj{"user_id": id})
	return &client{
		t:     w.anon.t,
		url:   w.anon.url,
		http:  w.anon.http,
		token: text(tok["token"]),
		id:    id,
	}
}

func (c *client) post(channel, message string) obj {
	c.t.Helper()
	return c.create("/posts", obj{"channel_id": channel, "message": message})
}

// decode reads an object.
func decode(t testing.TB, text string) obj {
	t.Helper()
	var v obj
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// uploaded uploads one file, with more behind the path, and returns its id.
func (c *client) uploaded(channel, name string, data []byte, more string) string {
	c.t.Helper()
	a := c.upload(channel+more, name, data)
	if a.status != 201 {
		c.t.Fatalf("upload: %d %s", a.status, a.body)
	}
	return text(decode(c.t, string(a.body))["file_infos"].([]any)[0].(obj)["id"])
}

// upload sends one file as multipart.
func (c *client) upload(channel, name string, data []byte) answer {
	c.t.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	part, err := w.CreateFormFile("files", name)
	if err == nil {
		_, err = part.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	noError(c.t, err)
	req, err := http.NewRequest("POST", c.url+"/api/v4/files?channel_id="+channel, &buf)
	noError(c.t, err)
	req.Header.Set("Content-Type", w.FormDataContentType())
	return c.do(req)
}

// socket is a WebSocket whose messages come through a channel.
type socket struct {
	t    testing.TB
	c    *client
	conn *websocket.Conn
	msgs chan obj
}

func (c *client) dial() *socket {
	c.t.Helper()
	s := c.dialRaw()
	if e := s.next(); e["event"] != "hello" || e["seq"] != float64(0) {
		c.t.Fatalf("first message %v, want hello with seq 0", e)
	}
	return s
}

// dialRaw opens a WebSocket with query parameters and reads nothing yet.
func (c *client) dialRaw(query ...string) *socket {
	c.t.Helper()
	h := http.Header{}
	if c.token != "" {
		h.Set("Authorization", "Bearer "+c.token)
	}
	conn, _, err := websocket.DefaultDialer.Dial(
		"ws"+strings.TrimPrefix(c.url, "http")+"/api/v4/websocket?"+strings.Join(query, "&"),
		h,
	)
	noError(c.t, err)
	s := &socket{t: c.t, c: c, conn: conn, msgs: make(chan obj, 100000)}
	go func() {
		defer close(s.msgs)
		for {
			var m obj
			if conn.ReadJSON(&m) != nil {
				return
			}
			s.msgs <- m
		}
	}()
	c.t.Cleanup(func() { conn.Close() })
	return s
}

// next returns the next message of any kind.
func (s *socket) next() obj {
	s.t.Helper()
	select {
	case m, ok := <-s.msgs:
		if !ok {
			s.t.Fatal("the connection ended")
		}
		return m
	case <-time.After(patience):
		s.t.Fatalf("no message in %v", patience)
	}
	return nil
}

// event returns the next event of a name, passing over others.
func (s *socket) event(name string) obj {
	s.t.Helper()
	for {
		if m := s.next(); m["event"] == name {
			return m
		}
	}
}

// patience is how long a test waits for an event before it fails.
const patience = time.Minute

// waitFor waits until ok.
func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in %v: %s", patience, what)
		}
	}
}

// sync returns the messages up to now: the events of all requests that were answered before it was
// called. A change of preferences marks the place, as its event takes the same way; it is repeated
// in case a fault ate it. n makes the mark unique among this socket's.
func (s *socket) sync(n int) []obj {
	s.t.Helper()
	var before []obj
	for try := range 50 {
		mark := fmt.Sprintf("mark-%d-%d", n, try)
		s.c.ok("PUT", "/users/me/preferences",
			[]obj{{"user_id": s.c.id, "category": "test", "name": "mark", "value": mark}})
		wait := time.After(300 * time.Millisecond)
	reading:
		for {
			select {
			case m, ok := <-s.msgs:
				if !ok {
					s.t.Fatal("the connection ended")
				}
				if m["event"] != "preferences_changed" {
					before = append(before, m)
				} else if strings.Contains(text(m["data"].(obj)["preferences"]), mark) {
					return before
				}
			case <-wait:
				break reading
			}
		}
	}
	s.t.Fatal("50 marks did not come back")
	return nil
}

// count returns how many events of a name came before the mark n; see sync.
func (s *socket) count(n int, name string) (count int) {
	s.t.Helper()
	for _, e := range s.sync(n) {
		if e["event"] == name {
			count++
		}
	}
	return count
}

// about returns the object that the next event of a name has, as text, in its data.
func (s *socket) about(event, field string) obj {
	s.t.Helper()
	return decode(s.t, text(s.event(event)["data"].(obj)[field]))
}

// asked makes a request and returns its answer.
func (s *socket) asked(seq int, action string, data obj) obj {
	s.t.Helper()
	noError(s.t, s.conn.WriteJSON(obj{"seq": seq, "action": action, "data": data}))
	for {
		if m := s.next(); num(m["seq_reply"]) == int64(seq) {
			return m
		}
	}
}

// messages returns the texts of the posted events among events.
func messages(t testing.TB, events []obj) []string {
	t.Helper()
	var out []string
	for _, e := range events {
		if e["event"] != "posted" {
			continue
		}
		p := decode(t, text(e["data"].(obj)["post"]))
		if p["type"] == "" {
			out = append(out, text(p["message"]))
		}
	}
	return out
}

// metric returns the sum of a metric over the series that have all given labels ("name=value"); for
// histograms their count.
func (c *client) metric(name string, labels ...string) float64 {
	c.t.Helper()
	resp, err := c.http.Get(c.url + "/metrics")
	noError(c.t, err)
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	noError(c.t, err)
	sum := 0.0
	for line := range strings.Lines(string(page)) {
		at := strings.LastIndexByte(line, ' ') + 1
		metric, have, _ := strings.Cut(line[:at], "{")
		metric = strings.TrimSpace(metric)
		lacks := func(label string) bool {
			k, v, _ := strings.Cut(label, "=")
			return !strings.Contains(","+have, fmt.Sprintf(",%s=%q", k, v))
		}
		if metric != name && metric != name+"_count" || slices.ContainsFunc(labels, lacks) {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		noError(c.t, err)
		sum += v
	}
	return sum
}

func num(v any) int64 {
	f, ok := v.(float64)
	if !ok {
		n, _ := strconv.ParseInt(text(v), 10, 64)
		return n
	}
	return int64(f)
}
