package refchat

import (
	"cmp"
	"context"
	"database/sql"
	"reflect"
	"slices"
	"strings"
)

// kind describes the rows of one table.
type kind[T any] struct {
	table, alias string // the alias that clauses use; "" for none
	columns      string // each is the field of T with that name, or with the tag db
	then         func(*T)

	// Expressions and tables that are read with each row, and the fields of the expressions.
	more, moreTo, join string
	// Columns that are only written, and what a new row has there.
	fixed  string
	values []any

	selected string // the columns with the alias
	reading  string // a SELECT without its clause
	writing  string // the INSERT
	own      []column
	fields   func(*T) []any // of the columns and of more
}

// define completes the description of a table.
func define[T any](k kind[T]) *kind[T] {
	k.selected = k.columns
	if k.alias != "" {
		k.selected = k.alias + "." + strings.ReplaceAll(k.columns, ", ", ", "+k.alias+".")
	}
	k.own = columnsOf[T](k.columns)
	k.fields = fieldsOf[T](slices.Concat(k.own, columnsOf[T](k.moreTo)))
	k.reading = "SELECT " + k.selected + k.more + " FROM " + k.table + " " + k.alias + k.join + " "
	k.writing = insertInto(k.table, k.columns+k.fixed)
	return &k
}

// with describes the same rows, read with more.
func (k kind[T]) with(more, moreTo, join string) *kind[T] {
	k.more = more
	k.moreTo = moreTo
	k.join = join
	return define(k)
}

// column is the place of a column's field in a struct, as reflect has it.
type column []int

// columnsOf finds the fields of columns.
func columnsOf[T any](names string) (list []column) {
	if names == "" {
		return nil
	}
	all := reflect.VisibleFields(reflect.TypeFor[T]())
next:
	for name := range strings.SplitSeq(names, ", ") {
		for _, f := range all {
			if cmp.Or(f.Tag.Get("db"), strings.ToLower(f.Name)) == name {
				list = append(list, f.Index)
				continue next
			}
		}
		// at the start, of a table here
		panic("refchat: a row without a field for the column " + name)
	}
	return list
}

// fieldsOf returns a function that returns where to scan a row: into the fields of the columns, or
// into a T of one column.
func fieldsOf[T any](columns []column) func(*T) []any {
	return func(x *T) []any {
		if columns == nil {
			return []any{x}
		}
		row := reflect.ValueOf(x).Elem()
		list := make([]any, len(columns))
		for i, c := range columns {
			list[i] = place(row.FieldByIndex(c).Addr().Interface())
		}
		return list
	}
}

// place returns where to scan a field: maps and lists are text in their columns.
func place(field any) any {
	switch f := field.(type) {
	case *map[string]string:
		return encoded[map[string]string]{f, textMap[string]}
	case *map[string]any:
		return encoded[map[string]any]{f, textMap[any]}
	case *[]string:
		return encoded[[]string]{f, textList}
	case *[]*user:
		return encoded[[]*user]{f, textUsers}
	}
	return field
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

// content returns what an INSERT writes.
func (k *kind[T]) content(x *T) []any {
	row := reflect.ValueOf(x).Elem()
	list := make([]any, len(k.own), len(k.own)+len(k.values))
	for i, c := range k.own {
		switch v := row.FieldByIndex(c).Interface().(type) {
		case map[string]string, map[string]any, []string:
			list[i] = jsonText(v)
		default:
			list[i] = v
		}
	}
	return append(list, k.values...)
}

// insert stores a new row.
func (k *kind[T]) insert(ctx context.Context, st *store, x *T) error {
	return st.run(ctx, k.writing, k.content(x)...)
}

// save is insert as a store's method.
func (k *kind[T]) save(ctx context.Context, st *store, method string, x *T) (err error) {
	defer st.timed(method, &err)()
	return k.insert(ctx, st, x)
}

// upsert returns an INSERT of a row that updates the named columns when the key is there already.
func (k *kind[T]) upsert(key, update string) string {
	return updating(k.writing, key, update)
}

// A query is a SELECT, and the method of a store under which it is measured.
type query[T any] struct {
	method, text string
	fields       func(*T) []any
	then         func(*T) // completes a row; may be nil
}

// query selects rows by a clause (WHERE …).
func (k *kind[T]) query(method, clause string) *query[T] {
	return &query[T]{method, k.reading + clause, k.fields, k.then}
}

// selects is a query whose columns are these fields of a T; "" for a T of one column.
func selects[T any](method, columns, text string) *query[T] {
	return &query[T]{method: method, text: text, fields: fieldsOf[T](columnsOf[T](columns))}
}

// list returns the rows.
func (q *query[T]) list(ctx context.Context, st *store, args ...any) (list []*T, err error) {
	defer st.timed(q.method, &err)()
	return q.rows(ctx, st, args...)
}

// rows is list without being measured.
func (q *query[T]) rows(ctx context.Context, st *store, args ...any) ([]*T, error) {
	list := []*T{}
	err := st.query(ctx, func(r *sql.Rows) error {
		x := new(T)
		list = append(list, x)
		err := r.Scan(q.fields(x)...)
		if err == nil && q.then != nil {
			q.then(x)
		}
		return err
	}, q.text, args...)
	return list, err
}

// one returns the first row; none is sql.ErrNoRows.
func (q *query[T]) one(ctx context.Context, st *store, args ...any) (*T, error) {
	list, err := q.list(ctx, st, args...)
	if err == nil && len(list) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// find is one, with a zero T if there is no row.
func (q *query[T]) find(ctx context.Context, st *store, args ...any) (x T, err error) {
	list, err := q.list(ctx, st, args...)
	if len(list) > 0 {
		x = *list[0]
	}
	return x, err
}

// A command is a statement that returns no rows, and the method of a store under which it is
// measured.
type command struct{ method, text string }

func (c *command) run(ctx context.Context, st *store, args ...any) (err error) {
	defer st.timed(c.method, &err)()
	return st.run(ctx, c.text, args...)
}

// changes is run for one row that may not be there any more.
func (c *command) changes(ctx context.Context, st *store, args ...any) (ok bool, err error) {
	defer st.timed(c.method, &err)()
	return st.changes(ctx, c.text, args...)
}

// list is a query whose clause is made for the occasion.
func (k *kind[T]) list(
	ctx context.Context,
	st *store,
	method, clause string,
	args ...any,
) ([]*T, error) {
	return k.query(method, clause).list(ctx, st, args...)
}

// rows is list without being measured.
func (k *kind[T]) rows(ctx context.Context, st *store, clause string, args ...any) ([]*T, error) {
	return k.query("", clause).rows(ctx, st, args...)
}
