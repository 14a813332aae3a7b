package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// index is the SQLite copy of the manifests. It holds nothing that is not in a manifest. Its errors are of type
// [indexError].
type index struct {
	path string
	conn *sqlite.Conn
}

// The columns beside entry are for people who query the file by hand.
const indexSchema = `
create table if not exists run (
	id text primary key, stamp text not null, entry text not null,
	name text, epoch text, state text, valid int, arm text, engine text, comparison text, block int, capacity real
);`

// An indexError is a failure of the index itself.
type indexError struct {
	path string
	err  error
}

func (e *indexError) Error() string { return fmt.Sprintf("store index %s: %v", e.path, e.err) }

func (e *indexError) Unwrap() error { return e.err }

// damaged reports whether the content of an index cannot be read: then it must be rebuilt. It returns false for an
// index that is busy or may not be read, or whose disk is full, read-only or broken.
func damaged(err error) bool {
	bad := (*indexError)(nil)
	if !errors.As(err, &bad) {
		return false
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultInterrupt, sqlite.ResultCantOpen, sqlite.ResultPerm, sqlite.ResultReadOnly, sqlite.ResultFull, sqlite.ResultIOErr:
		return false
	default:
		return true
	}
}

// removeIndex removes an index with its log, which is of no use without it.
func removeIndex(path string) error {
	for _, f := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func openIndex(path string) (*index, error) {
	ix := &index{path: path}
	// The library would make it for all; its log has the permissions of the file.
	if f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode); err == nil {
		_ = f.Close() // the library reports whether it can be used
	}
	var err error
	if ix.conn, err = sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate|sqlite.OpenWAL); err != nil {
		return nil, ix.failed(err)
	}
	ix.conn.SetBlockOnBusy()
	if err := sqlitex.ExecuteScript(ix.conn, indexSchema, nil); err != nil {
		return nil, ix.failed(errors.Join(err, ix.conn.Close()))
	}
	return ix, nil
}

func (ix *index) failed(err error) error {
	if err == nil {
		return nil
	}
	return &indexError{ix.path, err}
}

func (ix *index) close() { _ = ix.conn.Close() }

func (ix *index) stamps() (map[string]string, error) {
	out := map[string]string{}
	err := sqlitex.Execute(ix.conn, `select id, stamp from run`, &sqlitex.ExecOptions{ResultFunc: func(st *sqlite.Stmt) error {
		out[st.ColumnText(0)] = st.ColumnText(1)
		return nil
	}})
	return out, ix.failed(err)
}

func (ix *index) put(e Entry, stamp string) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return ix.failed(sqlitex.Execute(ix.conn, `insert or replace into run values (?,?,?,?,?,?,?,?,?,?,?,?)`, &sqlitex.ExecOptions{
		Args: []any{e.ID, stamp, string(b), e.Name, e.Epoch.Format(time.RFC3339Nano), string(e.State), e.Valid, e.Arm, e.Engine, e.Comparison, e.Block, e.Capacity}}))
}

func (ix *index) remove(id string) error {
	return ix.failed(sqlitex.Execute(ix.conn, `delete from run where id = ?`, &sqlitex.ExecOptions{Args: []any{id}}))
}

func (ix *index) all() ([]Entry, error) {
	var out []Entry
	err := sqlitex.Execute(ix.conn, `select entry from run`, &sqlitex.ExecOptions{ResultFunc: func(st *sqlite.Stmt) error {
		var e Entry
		if err := json.Unmarshal([]byte(st.ColumnText(0)), &e); err != nil {
			return err
		}
		out = append(out, e)
		return nil
	}})
	return out, ix.failed(err)
}
