package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"

	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// patience bounds a read or write that a deadline does not.
const patience = 5 * time.Second

// families are the status variables, in lower case, by what their names begin with. Every server has
// those that end in "!". A family with a label is one metric; else each of its variables is one, of
// its own name or the one after "=".
var families = []struct{ prefix, metric, label, variables string }{
	{"", "mysql_global_status_", "", `
		uptime threads_running! threads_connected! threads_cached threads_created
		max_used_connections connections! aborted_connects aborted_clients queries!
		questions! slow_queries innodb_row_lock_current_waits! innodb_row_lock_waits!
		innodb_row_lock_time! innodb_row_lock_time_max innodb_deadlocks
		table_locks_waited innodb_buffer_pool_read_requests! innodb_buffer_pool_reads!
		innodb_buffer_pool_wait_free innodb_log_waits! innodb_os_log_written
		innodb_os_log_fsyncs innodb_os_log_pending_fsyncs innodb_data_fsyncs
		innodb_data_pending_fsyncs innodb_data_reads innodb_data_writes innodb_data_read
		innodb_data_written innodb_checkpoint_age innodb_checkpoint_max_age
		created_tmp_tables! created_tmp_disk_tables! created_tmp_files sort_merge_passes
		table_open_cache_overflows bytes_received bytes_sent
		innodb_buffer_pool_pages_dirty!=buffer_pool_dirty_pages`},
	{"innodb_buffer_pool_pages_", "mysql_global_status_buffer_pool_pages", "state",
		"data! free! misc!"},
	{"innodb_rows_", "mysql_global_status_innodb_row_ops_total", "operation",
		"read inserted updated deleted"},
	{"com_", "mysql_global_status_commands_total", "command",
		"select! insert! update! delete! commit! rollback!"},
	{"connection_errors_", "mysql_global_status_connection_errors_total", "error",
		"max_connections internal accept tcpwrap select peer_address"},
}

// variables returns all of them, with labels and those of their families.
func variables(labels []series.Label) (all []*status) {
	for _, of := range families {
		for word := range strings.FieldsSeq(of.variables) {
			word, as, _ := strings.Cut(word, "=")
			name, must := strings.CutSuffix(word, "!")
			s := &status{name: of.prefix + name, metric: of.metric, labels: labels, must: must}
			if of.label == "" {
				s.metric += cmp.Or(as, name)
			} else {
				s.labels = slices.Concat(labels, probe.Labels(of.label, name))
			}
			all = append(all, s)
		}
	}
	return all
}

// A StatusProbe samples one server. It is a probe.Probe.
type StatusProbe struct {
	db    *sql.DB
	name  string
	base  []series.Label
	known map[string]*status
	query string

	connected bool
	server    string
	maxConns  float64
	pool      float64
	key       sql.RawBytes
	value     sql.RawBytes
	out       series.Samples
}

// status is one of the server's status variables.
type status struct {
	name, metric string
	labels       []series.Label
	must         bool // every server has it
	seen         bool
}

// New makes the probe of a server: USER:PASSWORD@tcp(HOST:PORT)/DATABASE, with or without mysql://
// before it. It connects at the first sample, and again after an error. labels are added to every
// series; the value of "instance" also to the name.
func New(dsn string, labels ...series.Label) (*StatusProbe, error) {
	return newPatient(dsn, patience, labels)
}

// newPatient is New with a bound of a read or write that a deadline does not bound.
func newPatient(dsn string, patience time.Duration, labels []series.Label) (*StatusProbe, error) {
	conf, err := mysqldriver.ParseDSN(strings.TrimPrefix(dsn, "mysql://"))
	if dsn == "" || err != nil {
		return nil, errors.New(
			"the DSN of MySQL cannot be parsed; want USER:PASSWORD@tcp(HOST:PORT)/DATABASE",
		)
	}
	conf.Logger = silent{}
	conf.Timeout = patience
	conf.ReadTimeout = patience
	conf.WriteTimeout = patience
	var conn driver.Connector
	if conn, err = mysqldriver.NewConnector(conf); err != nil {
		return nil, errors.New("the DSN of MySQL has unsupported parameters; check them")
	}
	p := &StatusProbe{
		db:    sql.OpenDB(conn),
		name:  probe.NameOf("mysql", labels),
		base:  labels,
		known: map[string]*status{},
	}
	p.db.SetMaxOpenConns(1)
	var names []string
	for _, s := range variables(labels) {
		p.known[s.name] = s
		names = append(names, "'"+s.name+"'")
	}
	p.query = "SHOW GLOBAL STATUS WHERE Variable_name IN (" + strings.Join(names, ",") + ")"
	return p, nil
}

// silent drops the driver's output to the standard error, which contains addresses.
type silent struct{}

func (silent) Print(...any) {}

// Name returns "mysql" and the instance.
func (p *StatusProbe) Name() string { return p.name }

// Server returns the version of the server that it last connected to, after the name of its family:
// "MariaDB 10.11.14-MariaDB-0+deb12u2", "MySQL 8.4.3". Empty before the first sample.
func (p *StatusProbe) Server() string { return p.server }

// Close closes the connection.
func (p *StatusProbe) Close() error {
	if err := p.db.Close(); err != nil {
		return plain(err)
	}
	return nil
}

// Sample queries the server once, and its settings too when it has to connect. After an error
// nothing is returned.
func (p *StatusProbe) Sample(ctx context.Context, _ time.Time) ([]series.Sample, error) {
	p.out = p.out[:0]
	if !p.connected {
		if err := p.settings(ctx); err != nil {
			return nil, fmt.Errorf("connecting to MySQL: %w", plain(err))
		}
		p.connected = true
	}
	if err := p.read(ctx); err != nil {
		p.connected = false
		return nil, fmt.Errorf("asking MySQL: %w", plain(err))
	}
	return p.out, nil
}

// plain takes everything out of an error that could be a part of the DSN.
func plain(err error) error {
	if e, ok := errors.AsType[*mysqldriver.MySQLError](err); ok {
		remedy := map[uint16]string{
			1040: "the server has no connection left; raise max_connections, or leave one free for the probe",
			1044: "the user of the DSN may not use its database",
			1045: "the server refuses the user or password of the DSN",
			1049: "the database of the DSN does not exist",
			1053: "the server is stopping",
			1129: "the server has blocked this host after too many errors; FLUSH HOSTS there",
			1130: "the server accepts no connection from this host",
			1203: "the user of the DSN has no connection left; raise max_user_connections",
			1227: "the user of the DSN may not read the status",
			1698: "the server refuses the user or password of the DSN",
		}[e.Number]
		return fmt.Errorf("%s (error %d)", cmp.Or(remedy, "the server refuses"), e.Number)
	}
	if errors.Is(err, mysqldriver.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn) {
		return errors.New("the server ended the connection")
	}
	return probe.ConnectionError(err)
}

// settings reads the values that do not change while a server runs.
func (p *StatusProbe) settings(ctx context.Context) error {
	var version string
	if err := p.db.QueryRowContext(ctx, "SELECT @@global.max_connections, @@global.innodb_buffer_pool_size, VERSION()").Scan(&p.maxConns, &p.pool, &version); err != nil {
		return err
	}
	// This program's statements are not among the digests of the server under test, where the user
	// may choose that.
	_, _ = p.db.ExecContext(ctx, "UPDATE performance_schema.threads SET instrumented = 'NO' "+
		"WHERE processlist_id = CONNECTION_ID()")
	if p.server = "MySQL " + version; strings.Contains(version, "MariaDB") {
		p.server = "MariaDB " + version
	}
	return nil
}

func (p *StatusProbe) read(ctx context.Context) error {
	for _, s := range p.known {
		s.seen = false
	}
	rows, err := p.db.QueryContext(ctx, p.query)
	if err != nil {
		return err
	}
	defer rows.Close()
	connections := 0.0
	var lower [64]byte
	for rows.Next() {
		if err := rows.Scan(&p.key, &p.value); err != nil {
			return err
		}
		s := p.known[string(lowerCase(lower[:0], p.key))]
		if s == nil || s.seen {
			continue
		}
		v, err := strconv.ParseFloat(string(p.value), 64)
		if err != nil || !(v >= 0) {
			return probe.PlainError(fmt.Sprintf("the status variable %s is not a number", s.name))
		}
		if s.seen = true; s.name == "threads_connected" {
			connections = v
		}
		p.out.Add(s.metric, s.labels, v)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, s := range p.known {
		if s.must && !s.seen {
			return probe.PlainError(fmt.Sprintf(
				"the server has no status variable %s; want MySQL 5.7 or MariaDB 10.3 with InnoDB, or later",
				s.name,
			))
		}
	}
	p.out.Add("mysql_global_variables_max_connections", p.base, p.maxConns)
	p.out.Add("mysql_global_variables_innodb_buffer_pool_size", p.base, p.pool)
	if p.maxConns > 0 {
		p.out.Add("plimsoll_mysql_connections_used_ratio", p.base, connections/p.maxConns)
	}
	return nil
}

// lowerCase appends a name in lower case; servers differ in its spelling.
func lowerCase(buf []byte, name []byte) []byte {
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf = append(buf, c)
	}
	return buf
}
