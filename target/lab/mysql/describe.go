package mysql

import (
	"context"
	"database/sql"
	"strings"

	"plimsoll/target/lab"
	"plimsoll/target/lab/database"
)

// described are the settings that change the speed or safety of a server of this family; each
// server has some of them.
var described = strings.Fields(`
	innodb_flush_log_at_trx_commit innodb_flush_method innodb_doublewrite sync_binlog log_bin
	innodb_buffer_pool_size innodb_log_file_size innodb_redo_log_capacity innodb_io_capacity
	innodb_use_native_aio innodb_adaptive_hash_index max_connections thread_handling
	transaction_isolation tx_isolation character_set_server collation_server query_cache_type
	innodb_stats_persistent tmp_table_size performance_schema
`)

func describe(ctx context.Context, in *database.View) (lab.ProgramInfo, error) {
	d := lab.ProgramInfo{Name: "MySQL", Settings: map[string]string{}}
	wanted := map[string]bool{}
	for _, k := range described {
		wanted[k] = true
	}
	for k := range in.Settings {
		wanted[strings.ReplaceAll(k, "-", "_")] = true
	}
	err := admin(ctx, in, func(conn *sql.Conn) error {
		if err := conn.QueryRowContext(ctx, "SELECT VERSION()").Scan(&d.Version); err != nil {
			return err
		}
		if strings.Contains(d.Version, "MariaDB") {
			d.Name = "MariaDB"
		}
		return eachRow(ctx, conn, "SHOW GLOBAL VARIABLES", func(_ []string, cells []sql.RawBytes) {
			if k := string(cells[0]); wanted[k] {
				d.Settings[k] = string(cells[1])
			}
		})
	})
	return d, err
}
