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
	fields       func(*T) []any // where the columns are, in their order
	then         func(*T)       // completes a row that was read; may be nil

	selected string // the columns with the alias
}

// define completes the description of a table.
func define[T any](k kind[T]) *kind[T] {
	k.selected = k.columns
	if k.alias != "" {
		k.selected = k.alias + "." + strings.ReplaceAll(k.columns, ", ", ", "+k.alias+".")
	}
	return &k
}

// in returns the rows that a clause (WHERE …) selects; tx may be nil.
func (k *kind[T]) in(ctx context.Context, st *store, tx *sql.Tx, clause string, args ...any) ([]*T, error) {
	return collect(ctx, st, tx, k.fields, k.then, "SELECT "+k.selected+" FROM "+k.table+" "+k.alias+" "+clause, args...)
}

// list is in as a store's method.
func (k *kind[T]) list(ctx context.Context, st *store, method, clause string, args ...any) (list []*T, err error) {
	defer st.timed(method, &err)()
	return k.in(ctx, st, nil, clause, args...)
}

// one is list for the first row; none is sql.ErrNoRows.
func (k *kind[T]) one(ctx context.Context, st *store, method, clause string, args ...any) (*T, error) {
	return first(k.list(ctx, st, method, clause, args...))
}

// insert stores a new row; tx may be nil.
func (k *kind[T]) insert(ctx context.Context, st *store, tx *sql.Tx, x *T) error {
	values := k.values(x)
	return st.run(ctx, tx, "INSERT INTO "+k.table+" ("+k.columns+") VALUES ("+marks(len(values))+")", values...)
}

// values returns the content of the fields.
func (k *kind[T]) values(x *T) []any {
	list := k.fields(x)
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
	return list
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
