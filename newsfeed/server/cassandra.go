package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gocql/gocql"
)

// cassandraSetup is the longest time to connect and to make the schema. Callers wait no longer than
// their own contexts.
const cassandraSetup = 30 * time.Second

// wideTTLSeconds is wideTTL as a statement has it.
const wideTTLSeconds = int(wideTTL / time.Second)

// cassandra is the client of a Cassandra cluster, in the studied service's schema: a row per story,
// partitioned by participant, ordered by the time UUID that the server assigns, consistency ONE, 90
// days to live. Safe for concurrent use.
//
// The session is made by the first call that needs it, concurrently with the calls: making the
// schema may take longer than one of them may. A session whose connections failed, or whose schema
// has vanished, is given up: the next call begins with a new one.
type cassandra struct {
	conf          gocql.ClusterConfig
	keyspace      string
	insert, fetch [2]string // by table

	mu      sync.Mutex
	session *gocql.Session
	attempt *cassandraAttempt // nil: none is under way
	closed  bool
	wg      sync.WaitGroup
}

// A cassandraAttempt is a session in the making.
type cassandraAttempt struct {
	done    chan struct{}
	session *gocql.Session // set before done is closed
	err     error
}

var errClosed = errors.New("the client is closed")

func newCassandra(a address, timeout time.Duration) *cassandra {
	conf := gocql.NewCluster(a.hosts...)
	conf.ProtoVersion = 4
	conf.Consistency = gocql.One
	conf.ConnectTimeout = timeout + time.Second // a caller's own deadline comes first
	// Of the schema's statements; those of requests have deadlines in their contexts.
	conf.Timeout = cassandraSetup
	conf.WriteTimeout = timeout + time.Second // of one write to a socket
	conf.WriteCoalesceWaitTime = 0            // the fan-out is serial: there is nothing to wait for
	// The addresses that were given, not those that the nodes use among each other: behind a bridge
	// or a proxy only the given ones lead there.
	conf.DisableInitialHostLookup, conf.IgnorePeerAddr = true, true
	conf.Events.DisableNodeStatusEvents = true
	conf.Events.DisableTopologyEvents = true
	conf.Events.DisableSchemaEvents = true
	conf.ReconnectInterval = time.Second // of nodes that were down, where there are several
	conf.RetryPolicy = nil               // no retries: a failed call is returned to the client
	conf.Logger = NoLog{}                // failures come back as errors
	conf.MaxWaitSchemaAgreement = cassandraSetup
	conf.PageSize = mostRows
	conf.DefaultTimestamp = false // the server's clock: two services need not agree
	if a.user != "" {
		conf.Authenticator = gocql.PasswordAuthenticator{Username: a.user, Password: a.password}
	}
	c := &cassandra{conf: *conf, keyspace: a.name}
	for table, t := range [2]struct{ name, sender, mark string }{
		outboundTable: {name: "Outbound"},
		inboundTable:  {"Inbound", ", FromParticipantID", ", ?"},
	} {
		c.insert[table] = fmt.Sprintf(
			"INSERT INTO %s.%s (ParticipantID, Occurred, Subject, Story%s) VALUES (?, now(), ?, ?%s) USING TTL %d",
			a.name, t.name, t.sender, t.mark, wideTTLSeconds)
		c.fetch[table] = fmt.Sprintf(
			"SELECT Occurred, Subject, Story%s FROM %s.%s WHERE ParticipantID = ? ORDER BY Occurred DESC LIMIT %d",
			t.sender, a.name, t.name, mostRows)
	}
	return c
}

// NoLog is a logger for the driver that drops everything: failures come back as errors.
type NoLog struct{}

// Print implements gocql.StdLogger.
func (NoLog) Print(...any) {}

// Printf implements gocql.StdLogger.
func (NoLog) Printf(string, ...any) {}

// Println implements gocql.StdLogger.
func (NoLog) Println(...any) {}

// schema creates the missing parts. An existing keyspace, with more replicas for example, stays as
// it is.
func (c *cassandra) schema() []string {
	return []string{
		"CREATE KEYSPACE IF NOT EXISTS " + c.keyspace + " WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
		"CREATE TABLE IF NOT EXISTS " + c.keyspace + ".Inbound (ParticipantID int, Occurred timeuuid, FromParticipantID int, Subject text, Story text, PRIMARY KEY (ParticipantID, Occurred))",
		"CREATE TABLE IF NOT EXISTS " + c.keyspace + ".Outbound (ParticipantID int, Occurred timeuuid, Subject text, Story text, PRIMARY KEY (ParticipantID, Occurred))",
	}
}

// use returns the session, and makes it when there is none.
func (c *cassandra) use(ctx context.Context) (*gocql.Session, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, errClosed
	}
	if s := c.session; s != nil {
		c.mu.Unlock()
		return s, nil
	}
	a := c.attempt
	if a == nil {
		a = &cassandraAttempt{done: make(chan struct{})}
		c.attempt = a
		c.wg.Go(func() { c.connect(a) })
	}
	c.mu.Unlock()
	select {
	case <-a.done:
		return a.session, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// connect makes a session with its schema.
func (c *cassandra) connect(a *cassandraAttempt) {
	s, err := c.conf.CreateSession()
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), cassandraSetup)
		for _, statement := range c.schema() {
			if err = s.Query(statement).WithContext(ctx).Exec(); err != nil {
				break
			}
		}
		cancel()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && c.closed {
		err = errClosed
	}
	if err != nil && s != nil {
		s.Close()
		s = nil
	}
	a.session, a.err = s, err
	c.session, c.attempt = s, nil
	close(a.done)
}

// call runs a query in the session, and gives the session up when its connections failed.
func (c *cassandra) call(ctx context.Context, fn func(*gocql.Session) error) error {
	s, err := c.use(ctx)
	if err != nil {
		return err
	}
	if err = fn(s); err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err() // no word yet
	}
	var told gocql.RequestError
	if errors.As(err, &told) && told.Code() != gocql.ErrCodeInvalid {
		// Cassandra's own word; our statements are invalid only where the schema has vanished
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == s {
		c.session = nil
		c.wg.Go(s.Close)
	}
	return err
}

// Insert implements wideRows.
func (c *cassandra) Insert(ctx context.Context, table int, participant int64, row story) error {
	values := []any{participant, row.Subject, row.Story}
	if table == inboundTable {
		values = append(values, row.From)
	}
	return c.call(ctx, func(s *gocql.Session) error {
		return s.Query(c.insert[table], values...).WithContext(ctx).Exec()
	})
}

// Read implements wideRows.
func (c *cassandra) Read(
	ctx context.Context,
	table int,
	participant int64,
) (rows []story, err error) {
	err = c.call(ctx, func(s *gocql.Session) error {
		rows = nil
		it := s.Query(c.fetch[table], participant).WithContext(ctx).Iter()
		var at gocql.UUID
		var row story
		values := []any{&at, &row.Subject, &row.Story}
		if table == inboundTable {
			values = append(values, &row.From)
		}
		for it.Scan(values...) {
			row.Occurred = at.Time()
			rows = append(rows, row)
		}
		return it.Close()
	})
	return rows, err
}

// Describe implements wideRows. The settings are those that decide the cost of a write.
func (c *cassandra) Describe(ctx context.Context) (StoreInfo, error) {
	info := StoreInfo{
		Role:     KindWide,
		Name:     "Cassandra",
		Real:     true,
		Settings: map[string]string{"keyspace": c.keyspace},
	}
	err := c.call(ctx, func(s *gocql.Session) (err error) {
		info.Version, err = DescribeCassandra(ctx, s, info.Settings)
		return err
	})
	return info, err
}

// DescribeCassandra returns the version of a node, and adds the settings that decide the cost of a
// write.
func DescribeCassandra(
	ctx context.Context, s *gocql.Session, settings map[string]string,
) (version string, err error) {
	err = s.Query("SELECT release_version FROM system.local").WithContext(ctx).Scan(&version)
	if err != nil {
		return "", err
	}
	it := s.Query("SELECT name, value FROM system_views.settings WHERE name IN ('commitlog_sync', 'commitlog_sync_period')").
		WithContext(ctx).
		Iter()
	var name, value string
	for it.Scan(&name, &value) {
		settings[name] = value
	}
	if err := it.Close(); err != nil && !strings.Contains(err.Error(), "system_views") {
		return version, err // before Cassandra 4 there was no such table
	}
	return version, nil
}

// rows implements counter. It reads both tables.
func (c *cassandra) rows(ctx context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	for name, table := range map[string]string{"outbound": "Outbound", "inbound": "Inbound"} {
		err := c.call(ctx, func(s *gocql.Session) error {
			var n int64
			err := s.Query("SELECT COUNT(*) FROM " + c.keyspace + "." + table).
				WithContext(ctx).
				Scan(&n)
			out[name] = n
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Close implements wideRows. It waits for a session in the making.
func (c *cassandra) Close() {
	c.mu.Lock()
	c.closed = true
	s := c.session
	c.session = nil
	c.mu.Unlock()
	if s != nil {
		s.Close()
	}
	c.wg.Wait()
}
