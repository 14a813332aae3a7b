package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// index is the SQLite copy of what manifests say. It is never the only place of anything.
type index struct{ conn *sqlite.Conn }

// The columns beside entry are for people who query the file by hand.
const indexSchema = `
create table if not exists run (
	id text primary key, stamp text not null, entry text not null,
	name text, epoch text, state text, valid int, arm text, engine text, comparison text, block int, capacity real
);`

func openIndex(path string) (*index, error) {
	ix, err := tryIndex(path)
	if err != nil && sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy {
		// A damaged index is made anew: it holds nothing of its own.
		if rmErr := os.Remove(path); rmErr != nil {
			return nil, errors.Join(err, rmErr)
		}
		ix, err = tryIndex(path)
	}
	if err != nil {
		return nil, fmt.Errorf("store index %s: %w", path, err)
	}
	return ix, nil
}

func tryIndex(path string) (*index, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate|sqlite.OpenWAL)
	if err != nil {
		return nil, err
	}
	conn.SetBlockOnBusy()
	if err := sqlitex.ExecuteScript(conn, indexSchema, nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &index{conn}, nil
}

func (ix *index) close() { _ = ix.conn.Close() }

func (ix *index) stamps() (map[string]string, error) {
	out := map[string]string{}
	err := sqlitex.Execute(ix.conn, `select id, stamp from run`, &sqlitex.ExecOptions{ResultFunc: func(st *sqlite.Stmt) error {
		out[st.ColumnText(0)] = st.ColumnText(1)
		return nil
	}})
	return out, err
}

func (ix *index) put(e Entry, stamp string) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return sqlitex.Execute(ix.conn, `insert or replace into run values (?,?,?,?,?,?,?,?,?,?,?,?)`, &sqlitex.ExecOptions{
		Args: []any{e.ID, stamp, string(b), e.Name, e.Epoch.Format(time.RFC3339Nano), string(e.State), e.Valid, e.Arm, e.Engine, e.Comparison, e.Block, e.Capacity}})
}

func (ix *index) remove(id string) error {
	return sqlitex.Execute(ix.conn, `delete from run where id = ?`, &sqlitex.ExecOptions{Args: []any{id}})
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
	return out, err
}
