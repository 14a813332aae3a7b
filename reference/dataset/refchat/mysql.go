package refchat

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	driver "github.com/go-sql-driver/mysql"

	"plimsoll/reference/refchat/databases"
)

var mysql = &engine{
	schema:  "DATABASE()",
	analyze: "ANALYZE TABLE ",
	heavy:   []string{"TABLE posts "},
	strip:   stripMySQL,
	copy:    copyMySQL,
	alone:   func(context.Context, *sql.Conn) error { return nil },
}

// allowInfile lets the server take LOAD DATA LOCAL INFILE, and reports whether it did not do so
// before.
func allowInfile(ctx context.Context, db *sql.DB) (changed bool, err error) {
	var on bool
	if err := db.QueryRowContext(ctx, "SELECT @@GLOBAL.local_infile").Scan(&on); err != nil || on {
		return false, err
	}
	if _, err := db.ExecContext(ctx, "SET GLOBAL local_infile = 1"); err != nil {
		return false,
			fmt.Errorf(
				"the server refuses LOAD DATA LOCAL INFILE, and this account may not allow it; "+
					"SET GLOBAL local_infile = 1: %w",
				err,
			)
	}
	return true, nil
}

// stripMySQL makes one piece of work of each table: two statements on one table would wait for each
// other. InnoDB builds one full-text index at a time, and all others in one pass.
func stripMySQL(
	ctx context.Context,
	db *sql.DB,
	tables []string,
) (work []build, _ []string, err error) {
	for _, t := range tables {
		indexes, err := databases.Cells(
			ctx,
			db,
			`SELECT index_name, MAX(non_unique), MAX(index_type),
			GROUP_CONCAT(CONCAT('`+"`', column_name, '`'"+`, COALESCE(CONCAT('(', sub_part, ')'), '')) ORDER BY seq_in_index)
			FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ? AND index_name <> 'PRIMARY'
			GROUP BY index_name ORDER BY index_name`,
			t,
		)
		if err != nil {
			return nil, nil, err
		}
		if len(indexes) == 0 {
			continue
		}
		alter := "ALTER TABLE " + t + " "
		b := build{name: "indexes of table " + t, indexes: len(indexes)}
		var plain, drop []string
		for _, i := range indexes {
			drop = append(drop, "DROP INDEX `"+i[0]+"`")
			add := " INDEX `" + i[0] + "` (" + i[3] + ")"
			switch {
			case i[2] == "FULLTEXT":
				b.statements = append(b.statements, alter+"ADD FULLTEXT"+add)
			case i[1] == "1":
				plain = append(plain, "ADD"+add)
			default:
				plain = append(plain, "ADD UNIQUE"+add)
			}
		}
		if _, err := db.ExecContext(ctx, alter+strings.Join(drop, ", ")); err != nil {
			return nil, nil, err
		}
		if len(plain) > 0 {
			b.statements = append(b.statements, alter+strings.Join(plain, ", "))
		}
		work = append(work, b)
	}
	return work, nil, nil
}

var readers atomic.Int64 // names of readers are of the whole process

func copyMySQL(ctx context.Context, c *sql.Conn, s stream, r io.Reader) (int64, error) {
	name := fmt.Sprint("dataset-", readers.Add(1))
	driver.RegisterReaderHandler(name, func() io.Reader { return r })
	defer driver.DeregisterReaderHandler(name)
	res, err := c.ExecContext(ctx, "LOAD DATA LOCAL INFILE 'Reader::"+name+"' INTO TABLE "+s.table+
		" CHARACTER SET utf8mb4 ("+s.columns+")")
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
