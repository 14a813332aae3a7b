package refchat

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// engine holds the SQL that differs between the databases. The protocol counts, not the product:
// MariaDB is mysqlEngine.
type engine struct {
	name         string
	lock, unlock string            // of migrations, held by one server at a time
	types        *strings.Replacer // turns the words BOOL, TEXT and PROPS of a table into types
	suffix       string            // of CREATE TABLE
	cte          bool              // a SELECT may contain an UPDATE

	fullText func(table, name, columns string) string // makes a full-text index
	matches  func(columns string) string              // the condition that such an index finds ?
	// searches for words that begin like these, all of them
	beginnings func(words []string) string
	expression func(x *postSearch) string // writes a search; "" finds nothing
	rebind     func(text string) string   // see store
}

var postgresEngine = &engine{
	name:   "postgresql",
	lock:   "SELECT pg_advisory_lock(7312026)",
	unlock: "SELECT pg_advisory_unlock(7312026)",
	types: strings.NewReplacer(
		"BOOL",
		"boolean",
		"TEXT",
		"varchar(65535)",
		"PROPS",
		"varchar(8000)",
	),
	cte: true,

	fullText: func(table, name, columns string) string {
		return fmt.Sprintf("CREATE INDEX %s ON %s USING gin (%s)", name, table, vector(columns))
	},
	matches: func(columns string) string {
		return vector(columns) + " @@ to_tsquery('english', ?)"
	},
	beginnings: func(words []string) string { return strings.Join(words, ":* & ") + ":*" },
	expression: (*postSearch).tsquery,
	rebind:     numbered,
}

var mysqlEngine = &engine{
	name:   "mysql",
	lock:   "SELECT GET_LOCK('refchat', 60)",
	unlock: "SELECT RELEASE_LOCK('refchat')",
	types:  strings.NewReplacer("BOOL", "tinyint(1)", "TEXT", "text", "PROPS", "text"),
	suffix: " DEFAULT CHARSET = utf8mb4",

	fullText: func(table, name, columns string) string {
		return fmt.Sprintf("CREATE FULLTEXT INDEX %s ON %s (%s)", name, table, columns)
	},
	matches: func(columns string) string {
		return "MATCH (" + columns + ") AGAINST (? IN BOOLEAN MODE)"
	},
	beginnings: func(words []string) string { return "+" + strings.Join(words, "* +") + "*" },
	expression: (*postSearch).boolean,
	rebind:     onDuplicate,
}

// vector is the text of some columns as PostgreSQL indexes it.
func vector(columns string) string {
	return "to_tsvector('english', " + strings.ReplaceAll(columns, ", ", " || ' ' || ") + ")"
}

// numbered turns ? placeholders into $1, $2, … No statement here has a question mark in a literal.
func numbered(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(text, "?") {
		if i > 0 {
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

var (
	excluded = regexp.MustCompile(`= EXCLUDED\.(\w+)`)
	// asMySQL has the expressions that differ otherwise.
	asMySQL = strings.NewReplacer("createat / 86400000", "createat DIV 86400000",
		"array_to_string(array_agg(u.username), ', ')", "GROUP_CONCAT(u.username SEPARATOR ', ')")
)

// onDuplicate turns INSERT ... ON CONFLICT into MySQL's form.
func onDuplicate(text string) string {
	insert, update, ok := strings.Cut(asMySQL.Replace(text), " ON CONFLICT (")
	if !ok {
		return insert
	}
	_, sets, _ := strings.Cut(update, ") DO UPDATE SET ")
	return insert + " ON DUPLICATE KEY UPDATE " + excluded.ReplaceAllString(sets, "= VALUES($1)")
}

// spread writes the lists among the arguments, each for a condition "= ANY(?)", as arguments of
// their own.
func spread(text string, args []any) (string, []any) {
	var flat []any
	for i, a := range args {
		list, ok := a.([]string)
		if ok && flat == nil {
			flat = slices.Clone(args[:i])
		}
		switch {
		case ok:
			text = strings.Replace(text, "= ANY(?)", "IN ("+marks(len(list))+")", 1)
			for _, v := range list {
				flat = append(flat, v)
			}
		case flat != nil:
			flat = append(flat, a)
		}
	}
	if flat == nil {
		return text, args
	}
	return text, flat
}

// upsert is updating for a row of a table.
func upsert(table, columns, key, update string) string {
	return updating(insertInto(table, columns), key, update)
}

// updating returns an INSERT that updates the named columns when the key is there already.
func updating(insert, key, update string) string {
	var sets []string
	for c := range strings.SplitSeq(update, ", ") {
		sets = append(sets, c+" = EXCLUDED."+c)
	}
	return insert + " ON CONFLICT (" + key + ") DO UPDATE SET " + strings.Join(sets, ", ")
}

func insertInto(table, columns string) string {
	return "INSERT INTO " + table + " (" + columns + ") VALUES (" + marks(strings.Count(columns,
		",")+1) + ")"
}

// marks returns n placeholders.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }
