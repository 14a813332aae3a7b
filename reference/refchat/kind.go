package refchat

import (
	"context"
	"database/sql"
	"strings"
)

// kind describes the rows of one table.
type kind[T any] struct {
	table, alias string // the alias that clauses use; "" for none
	columns      string
	fields       func(*T) []any // where the columns are, in their order, and those of more
	then         func(*T)       // completes a row that was read; may be nil

	join, more string // tables and columns that are read with each row; may be empty
	// Columns that are only written, and what a new row has there.
	fixed  string
	values []any

	selected string // the columns with the alias
	reading  string // a SELECT without its clause
	writing  string // the INSERT
	own      int    // columns of the table
}

// define completes the description of a table.
func define[T any](k kind[T]) *kind[T] {
	k.selected = k.columns
	if k.alias != "" {
		k.selected = k.alias + "." + strings.ReplaceAll(k.columns, ", ", ", "+k.alias+".")
	}
	k.reading = "SELECT " + k.selected + k.more + " FROM " + k.table + " " + k.alias + k.join + " "
	k.writing = insertInto(k.table, k.columns+k.fixed)
	k.own = strings.Count(k.columns, ",") + 1
	return &k
}

// A query selects rows of a kind by a clause (WHERE …), and is measured as a method of a store.
type query[T any] struct {
	kind         *kind[T]
	method, text string
}

func (k *kind[T]) query(method, clause string) *query[T] {
	return &query[T]{k, method, k.reading + clause}
}

// list returns the rows.
func (q *query[T]) list(ctx context.Context, st *store, args ...any) (list []*T, err error) {
	defer st.timed(q.method, &err)()
	return collect(ctx, st, nil, q.kind.fields, q.kind.then, q.text, args...)
}

// one returns the first row; none is sql.ErrNoRows.
func (q *query[T]) one(ctx context.Context, st *store, args ...any) (*T, error) {
	return first(q.list(ctx, st, args...))
}

// list is a query whose clause is made for the occasion.
func (k *kind[T]) list(ctx context.Context, st *store, method, clause string, args ...any) ([]*T, error) {
	return k.query(method, clause).list(ctx, st, args...)
}

// in is list without being measured; tx may be nil.
func (k *kind[T]) in(ctx context.Context, st *store, tx *sql.Tx, clause string, args ...any) ([]*T, error) {
	return collect(ctx, st, tx, k.fields, k.then, k.reading+clause, args...)
}

// save stores a new row, as a store's method.
func (k *kind[T]) save(ctx context.Context, st *store, method string, x *T) (err error) {
	defer st.timed(method, &err)()
	return k.insert(ctx, st, nil, x)
}

// insert stores a new row; tx may be nil.
func (k *kind[T]) insert(ctx context.Context, st *store, tx *sql.Tx, x *T) error {
	return st.run(ctx, tx, k.writing, k.content(x)...)
}

// content returns what an INSERT writes.
func (k *kind[T]) content(x *T) []any {
	list := k.fields(x)[:k.own]
	for i, f := range list {
		switch f := f.(type) {
		case *string:
			list[i] = *f
		case *int64:
			list[i] = *f
		case *int:
			list[i] = *f
		case *bool:
			list[i] = *f
		case *memberTime:
			list[i] = *f
		case interface{ text() string }:
			list[i] = f.text()
		}
	}
	return append(list, k.values...)
}

// collect returns the rows of a statement, whose columns go into the fields of a T; tx and then may be nil.
func collect[T any](ctx context.Context, st *store, tx *sql.Tx, fields func(*T) []any, then func(*T), text string, args ...any) ([]*T, error) {
	list := []*T{}
	err := st.query(ctx, tx, func(r *sql.Rows) error {
		x := new(T)
		list = append(list, x)
		if err := r.Scan(fields(x)...); err != nil || then == nil {
			return err
		}
		then(x)
		return nil
	}, text, args...)
	return list, err
}

// first returns the first of a list; none is sql.ErrNoRows.
func first[T any](list []*T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, sql.ErrNoRows
	}
	return list[0], nil
}

// encoded is a field that a column holds as text.
type encoded[T any] struct {
	to    *T
	parse func(string) T
}

// Scan reads the column.
func (e encoded[T]) Scan(v any) error {
	var s sql.NullString
	err := s.Scan(v)
	*e.to = e.parse(s.String)
	return err
}

func (e encoded[T]) text() string { return jsonText(*e.to) }
