package server

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// maxName is the length of a participant's name, in characters.
const maxName = 50

// relational is participants and friendships in a database. All its statements go through four
// routines, which are prepared once per connection. Safe for concurrent use.
type relational struct {
	db                                                              *sql.DB
	postgres                                                        bool
	upsertParticipant, fetchParticipant, upsertFriends, fetchFriend *sql.Stmt
}

// A friend is one friendship, seen from one of its sides.
type friend struct {
	ID          int64 `json:"id"`          // of the friendship
	Participant int64 `json:"participant"` // the other side
}

var (
	errDSN = errors.New(
		`reading the DSN: want postgres://user:password@host:port/database or mysql://user:password@tcp(host:port)/database`,
	)
	errNoParticipant = errors.New("no such participant")
)

// openRelational connects and makes the schema where there is none. No error repeats the DSN, which
// holds a password.
func openRelational(ctx context.Context, dsn string, conns int) (*relational, error) {
	r := &relational{}
	switch {
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		cfg, err := pgx.ParseConfig(dsn)
		if err != nil {
			return nil, errDSN
		}
		r.db, r.postgres = stdlib.OpenDB(*cfg), true
	case strings.HasPrefix(dsn, "mysql://"):
		cfg, err := mysql.ParseDSN(strings.TrimPrefix(dsn, "mysql://"))
		if err != nil {
			return nil, errDSN
		}
		if cfg.Timeout == 0 {
			cfg.Timeout = 10 * time.Second
		}
		if cfg.ReadTimeout == 0 {
			cfg.ReadTimeout, cfg.WriteTimeout = 30*time.Second, 30*time.Second
		}
		cfg.Logger = &mysql.NopLogger{} // its messages are also returned as errors
		cn, err := mysql.NewConnector(cfg)
		if err != nil {
			return nil, errDSN
		}
		r.db = sql.OpenDB(cn)
	default:
		return nil, errDSN
	}
	r.db.SetMaxOpenConns(conns)
	r.db.SetMaxIdleConns(conns)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := r.prepare(ctx); err != nil {
		r.db.Close()
		return nil, fmt.Errorf("preparing the database: %w", err)
	}
	return r, nil
}

func (r *relational) prepare(ctx context.Context) error {
	if err := r.migrate(ctx); err != nil {
		return err
	}
	call := map[bool][4]string{
		true: {"SELECT new_id FROM UpsertParticipant($1)", "SELECT moniker FROM FetchParticipant($1)",
			"SELECT new_id FROM UpsertFriends($1, $2)", "SELECT friends_id, participant_id FROM FetchFriends($1)"},
		false: {"CALL UpsertParticipant(?)", "CALL FetchParticipant(?)", "CALL UpsertFriends(?, ?)", "CALL FetchFriends(?)"},
	}[r.postgres]
	for i, at := range []**sql.Stmt{&r.upsertParticipant, &r.fetchParticipant, &r.upsertFriends, &r.fetchFriend} {
		st, err := r.db.PrepareContext(ctx, call[i])
		if err != nil {
			return err
		}
		*at = st
	}
	return nil
}

// addParticipant stores a participant and returns its number.
func (r *relational) addParticipant(ctx context.Context, name string) (id int64, err error) {
	err = r.upsertParticipant.QueryRowContext(ctx, name).Scan(&id)
	return id, err
}

// participant returns a name, or errNoParticipant.
func (r *relational) participant(ctx context.Context, id int64) (name string, err error) {
	err = r.fetchParticipant.QueryRowContext(ctx, id).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoParticipant
	}
	return name, err
}

// addFriends stores a friendship, once more if it is there, and returns its number.
func (r *relational) addFriends(ctx context.Context, from, to int64) (id int64, err error) {
	err = r.upsertFriends.QueryRowContext(ctx, from, to).Scan(&id)
	// a foreign key leads nowhere
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok && pe.Code == "23503" {
		err = errNoParticipant
	}
	if me, ok := errors.AsType[*mysql.MySQLError](err); ok && me.Number == 1452 {
		err = errNoParticipant
	}
	return id, err
}

// Codes of a database whose disk is full: PostgreSQL's disk_full; MySQL's and MariaDB's disk full
// (also in the error log), table is full (InnoDB), and errors of writing files.
const (
	pgDiskFull      = "53100"
	myDiskFull      = 1021
	myTableFull     = 1114
	myErrorOnWrite  = 1026
	myTempWrite     = 3
	myStorageEngine = 1030 // with the system's error number in its text
)

// databaseFull reports whether a database refused to write because it has no room.
func databaseFull(err error) bool {
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pe.Code == pgDiskFull
	}
	if me, ok := errors.AsType[*mysql.MySQLError](err); ok {
		switch me.Number {
		case myDiskFull, myTableFull:
			return true
		case myErrorOnWrite, myTempWrite, myStorageEngine:
			return noSpaceRE.MatchString(me.Message)
		}
	}
	return false
}

// noSpaceRE finds the numbers of ENOSPC and EDQUOT in a message of MySQL or MariaDB.
var noSpaceRE = regexp.MustCompile(`(?i)(?:errno|error|errcode):? *(?:28|122)\b`)

// friends returns a participant's friendships of both directions, the oldest first.
func (r *relational) friends(ctx context.Context, id int64) (list []friend, err error) {
	rows, err := r.fetchFriend.QueryContext(ctx, id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var f friend
		if err := rows.Scan(&f.ID, &f.Participant); err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	// UNION has no order, and engines differ.
	slices.SortFunc(list, func(a, b friend) int { return cmp.Compare(a.ID, b.ID) })
	return list, rows.Err()
}

func (r *relational) Describe(ctx context.Context) (StoreInfo, error) {
	info := StoreInfo{Role: "database", Name: "PostgreSQL", Real: true}
	query := "SHOW server_version"
	if !r.postgres {
		info.Name, query = "MySQL", "SELECT VERSION()"
	}
	err := r.db.QueryRowContext(ctx, query).Scan(&info.Version)
	if strings.Contains(info.Version, "MariaDB") {
		info.Name = "MariaDB"
	}
	return info, err
}

// rows counts participants and friendships.
func (r *relational) rows(ctx context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	for what, table := range map[string]string{
		"participants": "participant",
		"friendships":  "friends",
	} {
		if !r.postgres {
			table = strings.ToUpper(table[:1]) + table[1:]
		}
		n := int64(0)
		if err := r.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
			return nil, err
		}
		out[what] = n
	}
	return out, nil
}

func (r *relational) Close() error { return r.db.Close() }
