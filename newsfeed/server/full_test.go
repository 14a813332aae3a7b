//go:build full

package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gocql/gocql"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"plimsoll/newsfeed/jvm"
	"plimsoll/newsfeed/server"
)

// A real is Cassandra, OpenSearch and Kafka for the tests. Each test has a keyspace, an index and a
// topic of its own in them.
type real struct {
	t       *testing.T
	servers map[string]*jvm.Server // by role
	confs   map[string]jvm.Config  // of these
	tests   atomic.Int64
}

var starts = map[string]func(context.Context, jvm.Config) (*jvm.Server, error){
	"wide": jvm.StartCassandra, "search": jvm.StartOpenSearch, "bus": jvm.StartKafka,
}

// startReal starts the servers one after the other.
func startReal(t *testing.T) *real {
	r := &real{t: t, servers: map[string]*jvm.Server{}, confs: map[string]jvm.Config{}}
	for _, role := range []string{"wide", "search", "bus"} {
		r.start(role, jvm.Config{Dir: filepath.Join(t.TempDir(), role)})
	}
	return r
}

func (r *real) start(role string, conf jvm.Config) {
	r.t.Helper()
	// with a download the first time
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Minute)
	defer cancel()
	began := time.Now()
	s, err := starts[role](ctx, conf)
	if err != nil {
		r.t.Fatal(err)
	}
	d, err := s.Describe(ctx)
	r.t.Logf(
		"%s: %s %s after %v %v",
		role,
		d.Name,
		d.Version,
		time.Since(began).Round(time.Millisecond),
		err,
	)
	r.servers[role], r.confs[role] = s, conf
	r.t.Cleanup(func() { _ = s.Kill() })
}

func (r *real) addresses() (wide, search, bus string) {
	name := fmt.Sprintf("test_%d", r.tests.Add(1))
	return "cassandra://" + r.servers["wide"].Addr() + "/" + name, "http://" + r.servers["search"].Addr() + "/" + name,
		"kafka://" + r.servers["bus"].Addr() + "/" + name
}

// fetch reads a topic from its first record to its last of now, with another client than the
// service's.
func (r *real) fetch(ctx context.Context, bus string) (records [][]byte, err error) {
	host, topic, _ := strings.Cut(strings.TrimPrefix(bus, "kafka://"), "/")
	client, err := kgo.NewClient(kgo.SeedBrokers(host), kgo.ConsumePartitions(
		map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}},
	))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	of, part := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	of.Topic, part.Timestamp = topic, -1
	of.Partitions = append(of.Partitions, part)
	req.Topics = append(req.Topics, of)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	end := resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(end.ErrorCode); err != nil {
		return nil, err
	}
	for int64(len(records)) < end.Offset {
		got := client.PollFetches(ctx)
		if err := got.Err(); err != nil {
			return nil, err
		}
		got.EachRecord(func(rec *kgo.Record) { records = append(records, rec.Value) })
	}
	return records, nil
}

// TestFull runs the tests of the service on its own stores, and more, on Cassandra, OpenSearch and
// Kafka. It needs Java 17 and mvn; make test-full runs it.
func TestFull(t *testing.T) {
	r := startReal(t)
	outside = r
	t.Cleanup(func() { outside = nil })
	for _, o := range []struct {
		name string
		test func(*testing.T)
	}{
		{"Participants", TestParticipants},
		{"FriendsAreSeenFromBothSidesAtOnce", TestFriendsAreSeenFromBothSidesAtOnce},
		{"StoriesGoOut", TestStoriesGoOut},
		{"Search", TestSearch},
		{"TheLegacyGeneration", TestTheLegacyGeneration},
		{"BothDatabasesHoldTheSame", TestBothDatabasesHoldTheSame},
		{"TelemetryOfEachRequest", TestTelemetryOfEachRequest},
		{"TheEndOfAServerSendsItsTelemetry", TestTheEndOfAServerSendsItsTelemetry},
		{"TheStoresHoldIt", r.testContents},
		{"AFaultOfEachStore", r.testFaults},
		{"NoBusNoLoss", r.testNoBus},
		{"LostSchema", r.testLostSchema},
		{"AFullIndex", r.testFullIndex},
	} {
		t.Run(o.name, o.test)
	}
}

// feed is a service on a new database, with names of its own in the stores; the last that addresses
// returned.
func (r *real) feed(t *testing.T) (f *feed, name string) {
	t.Helper()
	f = start(t, "postgresql", server.Config{
		Index:        server.IndexCommit,
		StoreTimeout: 3 * time.Second,
	})
	return f, fmt.Sprintf("test_%d", r.tests.Load())
}

func (r *real) cql(t *testing.T) *gocql.Session {
	t.Helper()
	conf := gocql.NewCluster(r.servers["wide"].Addr())
	conf.ProtoVersion = 4
	conf.Timeout = 30 * time.Second
	conf.ConnectTimeout = 30 * time.Second
	s, err := conf.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// http makes a request to OpenSearch past the service.
func (r *real) http(t *testing.T, method, path, body string, v any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(
		ctx,
		method,
		"http://"+r.servers["search"].Addr()+path,
		strings.NewReader(body),
	)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s %s: %s %s %v", method, path, resp.Status, b, err)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

// testContents reads the stores directly: the numbers of rows, documents and records, and their
// content.
func (r *real) testContents(t *testing.T) {
	f, name := r.feed(t)
	a := f.person("a")
	var friends []int64
	for _, who := range []string{"b", "c", "d"} {
		friends = append(friends, f.person(who))
		f.befriend(a, friends[len(friends)-1])
	}
	for i := range 4 {
		f.ok("POST", "/outbound/new", object{
			"from":    a,
			"subject": fmt.Sprintf("title%d", i),
			"story":   fmt.Sprintf("text%d it's \"so\"", i),
		}, nil)
	}
	if status, _ := f.do("POST", "/outbound/new", object{
		"from":    a,
		"subject": "s",
	}); status != 400 {
		t.Errorf("a story without text: %d, want 400", status)
	}
	s := r.cql(t)
	count := func(query string, args ...any) (n int) {
		if err := s.Query(query, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count("SELECT COUNT(*) FROM " + name + ".Outbound"); n != 4 {
		t.Errorf("%d rows of outbound, want 4", n)
	}
	if n := count("SELECT COUNT(*) FROM " + name + ".Inbound"); n != 12 {
		t.Errorf("%d rows of inbound, want 4 for each of 3 friends", n)
	}
	for _, b := range friends {
		var from int64
		var ttl int
		var subject, text string
		var at gocql.UUID
		err := s.Query("SELECT Occurred, FromParticipantID, Subject, Story, TTL(Story) FROM "+name+".Inbound WHERE ParticipantID = ? ORDER BY Occurred DESC LIMIT 1", b).
			Scan(&at, &from, &subject, &text, &ttl)
		if err != nil || from != a || subject != "title3" || text != `text3 it's "so"` {
			t.Errorf("newest row of %d: %d %q %q, %v", b, from, subject, text, err)
		}
		if age := time.Since(at.Time()); age < 0 || age > time.Minute || ttl > 7776000 ||
			ttl < 7776000-120 {
			t.Errorf(
				"newest row of %d: %v old, lives %d s; want some seconds and 90 days",
				b,
				age,
				ttl,
			)
		}
	}
	var docs struct {
		Hits struct {
			Hits []struct {
				Source map[string]any `json:"_source"`
			}
		}
	}
	r.http(t, "GET", "/"+name+"/_search?size=100&sort=at:asc", "", &docs)
	if len(docs.Hits.Hits) != 4 {
		t.Fatalf("%d documents, want 4", len(docs.Hits.Hits))
	}
	for i, d := range docs.Hits.Hits {
		if d.Source["sender"] != float64(a) ||
			d.Source["story"] != fmt.Sprintf("text%d it's \"so\"", i) ||
			len(d.Source) != 3 {
			t.Errorf(
				"document %d: %v; want its sender, its text, its time and nothing else",
				i,
				d.Source,
			)
		}
	}
	want := map[string]int{
		"participant post 200": 4,
		"friends post 200":     3,
		"outbound post 200":    4,
		"outbound post 400":    1,
	}
	eventually(t, "twelve records", func() bool { return len(f.records()) >= 12 })
	for i, rec := range f.records() {
		want[fmt.Sprintf("%s %s %d", rec.Entity, rec.Operation, rec.Status)]--
		if rec.Number != int64(i+1) {
			t.Errorf("record %d has number %d", i, rec.Number)
		}
	}
	for kind, n := range want {
		if n != 0 {
			t.Errorf("%d records of %s are missing", n, kind)
		}
	}
	r.testRows(t, f)
	var h struct{ Stores map[string]server.StoreInfo }
	f.ok("GET", "/health", nil, &h)
	for role, is := range map[string]string{
		"wide":   "Cassandra 5.0.4",
		"search": "OpenSearch 2.19.2",
		"bus":    "Kafka v3.9",
	} {
		if got := h.Stores[role]; got.Name+" "+got.Version != is || !got.Real {
			t.Errorf("health says the %s is %+v, want %s", role, got, is)
		}
	}
	if got := h.Stores["search"].Settings; got["refresh"] != "1s" ||
		!strings.EqualFold(got["translog"], "request") {
		t.Errorf("settings of the index: %v", got)
	}
	if got := h.Stores["wide"].Settings; got["commitlog_sync"] != "periodic" {
		t.Errorf("settings of Cassandra: %v", got)
	}
}

// testRows checks that the service counts the rows, and that the reader of the telemetry reads it
// from any place.
func (r *real) testRows(t *testing.T, f *feed) {
	t.Helper()
	var rows server.Rows
	f.ok("GET", "/rows", nil, &rows)
	want := map[string]map[string]int64{
		"database": {"participants": 4, "friendships": 3},
		"wide":     {"outbound": 4, "inbound": 12},
		"search":   {"documents": 4},
		"bus":      {"records": 12},
	}
	if diff := cmp.Diff(want, rows.Stores); diff != "" || len(rows.Untold) > 0 {
		t.Errorf("rows %v (-want +got):\n%s", rows.Untold, diff)
	}
	reader, err := server.OpenReader(f.bus)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all, err := r.fetch(ctx, f.bus)
	if err != nil {
		t.Fatal(err)
	}
	for _, offset := range []int64{0, 5, 11, 12, 100} {
		got, err := reader.Fetch(ctx, offset)
		if diff := cmp.Diff(all[min(int(offset), len(all)):], got, cmpopts.EquateEmpty()); diff != "" ||
			err != nil {
			t.Errorf("records from %d on: %v (-want +got):\n%s", offset, err, diff)
		}
	}
}

// hit breaks a server, and returns a function that mends it: slow stops the process in its tracks,
// killed kills it.
func (r *real) hit(t *testing.T, role, mode string) (mend func()) {
	t.Helper()
	s := r.servers[role]
	if mode == "killed" {
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		_, port, err := net.SplitHostPort(s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		conf := r.confs[role]
		if conf.Port, err = strconv.Atoi(port); err != nil {
			t.Fatal(err)
		}
		return func() { r.start(role, conf) }
	}
	pid := s.PIDs()[0]
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
}

// testFaults stops and kills Cassandra and OpenSearch under a service: the client's error names the
// store and the failure, the telemetry has it, acknowledged data is there afterwards, and the same
// service works again.
func (r *real) testFaults(t *testing.T) {
	f, _ := r.feed(t)
	n := 0
	post := func(from int64) (int, string, string) {
		n++
		word := fmt.Sprintf("word%d", n)
		status, text := f.do("POST", "/outbound/new", object{
			"from":    from,
			"subject": "s",
			"story":   word,
		})
		return status, text, word
	}
	whole := func(to int64, word string) bool {
		var senders []string
		f.ok("GET", "/outbound?keywords="+word, nil, &senders)
		return len(senders) == 1 && slices.ContainsFunc(f.inbound(to), func(e entry) bool {
			return e.Story == word
		})
	}
	for _, role := range []string{"wide", "search"} {
		for _, mode := range []string{"slow", "killed"} {
			want := map[string]int{"slow": 504, "killed": 503}[mode]
			a, b := f.person("a"), f.person("b")
			f.befriend(a, b)
			status, text, before := post(a)
			if status != 200 {
				t.Fatalf("%s %s: before it: %d %s", role, mode, status, text)
			}
			time.Sleep(time.Second) // Cassandra marks the content of its log several times a second
			mend := r.hit(t, role, mode)
			status, text, _ = post(a)
			if status != want || !strings.Contains(text, fmt.Sprintf("%q", role)) {
				t.Errorf("%s %s: %d %s; want %d and its role", role, mode, status, text, want)
			}
			if strings.Contains(text, "127.0.0.1") {
				t.Errorf("%s %s: the client is told %s", role, mode, text)
			}
			if health, text := f.do("GET", "/health", nil); health != 503 ||
				!strings.Contains(text, role) {
				t.Errorf("%s %s: health says %d %s", role, mode, health, text)
			}
			f.tell(want, role)
			mend()
			word := ""
			eventually(t, role+" "+mode+": a story after it", func() bool {
				status, text, word = post(a)
				return status == 200
			})
			if !whole(b, word) {
				t.Errorf("%s %s: the first story after it is not whole", role, mode)
			}
			if !whole(b, before) {
				t.Errorf("%s %s: a story that was acknowledged before it is lost", role, mode)
			}
			eventually(t, role+" "+mode+": good health after it", func() bool {
				health, _ := f.do("GET", "/health", nil)
				return health == 200
			})
		}
	}
}

// testNoBus checks that without Kafka the service goes on, and that its telemetry is sent once
// Kafka is back.
func (r *real) testNoBus(t *testing.T) {
	f, _ := r.feed(t)
	told := 0
	for _, mode := range []string{"slow", "killed"} {
		f.person("x")
		mend := r.hit(t, "bus", mode)
		for range 20 {
			f.person("x")
		}
		told += 21
		if health, text := f.do("GET", "/health", nil); health != 503 ||
			!strings.Contains(text, "bus") {
			t.Errorf("%s: health says %d %s", mode, health, text)
		}
		mend()
		eventually(t, mode+": all records on the bus", func() bool {
			seen := map[int64]bool{} // a batch may be there twice
			for _, rec := range f.records() {
				seen[rec.Number] = true
			}
			return len(seen) == told && seen[1] && seen[int64(told)]
		})
		eventually(t, mode+": good health after it", func() bool {
			health, _ := f.do("GET", "/health", nil)
			return health == 200
		})
	}
}

// testLostSchema checks that a dropped keyspace and a dropped index are an error once, and created
// again.
func (r *real) testLostSchema(t *testing.T) {
	f, name := r.feed(t)
	a := f.person("a")
	story := object{"from": a, "subject": "s", "story": "again"}
	f.ok("POST", "/outbound/new", story, nil)
	for role, drop := range map[string]func(){
		"wide":   func() { exec(t, r.cql(t), "DROP KEYSPACE "+name) },
		"search": func() { r.http(t, "DELETE", "/"+name, "", nil) },
	} {
		drop()
		if status, text := f.do("POST", "/outbound/new", story); status != 503 ||
			!strings.Contains(text, role) {
			t.Errorf("%s: %d %s, want 503 and its role", role, status, text)
		}
		eventually(t, role+": made again", func() bool {
			status, _ := f.do("POST", "/outbound/new", story)
			return status == 200
		})
	}
	var mapping map[string]struct{ Mappings struct{ Dynamic string } }
	r.http(t, "GET", "/"+name+"/_mapping", "", &mapping)
	if mapping[name].Mappings.Dynamic != "strict" {
		t.Errorf("the index was made by somebody else: %v", mapping)
	}
}

func exec(t *testing.T, s *gocql.Session, statement string) {
	t.Helper()
	if err := s.Query(statement).Exec(); err != nil {
		t.Fatal(err)
	}
}

// testFullIndex puts the block on the index that the server itself puts there when its disk is
// full, and another one.
func (r *real) testFullIndex(t *testing.T) {
	f, name := r.feed(t)
	a := f.person("a")
	story := object{"from": a, "subject": "s", "story": "x"}
	for block, want := range map[string]int{"read_only_allow_delete": 507, "write": 503} {
		r.http(t, "PUT", "/"+name+"/_settings", `{"index.blocks.`+block+`": true}`, nil)
		if status, text := f.do("POST", "/outbound/new", story); status != want ||
			!strings.Contains(text, "search") {
			t.Errorf("%s: %d %s, want %d and its role", block, status, text, want)
		}
		f.tell(want, "search")
		r.http(t, "PUT", "/"+name+"/_settings", `{"index.blocks.`+block+`": null}`, nil)
		f.ok("POST", "/outbound/new", story, nil)
	}
}
