package process_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/target"
	"plimsoll/target/lab/database"
	"plimsoll/target/lab/mysql"
	"plimsoll/target/lab/postgresql"
	"plimsoll/target/process"
)

// TestReplicas: the program has the addresses of the database's copies, which hold at each start
// all that the database holds, also after a reset and a halt.
func TestReplicas(t *testing.T) {
	for _, engine := range []string{"postgresql", "mysql"} {
		t.Run(engine, func(t *testing.T) {
			conf := process.Config{
				Replicas: 1,
				Databases: map[string]target.StartDatabase{
					"postgresql": func(ctx context.Context, dir string, cpus []int) (target.Database, error) {
						return postgresql.Start(ctx, postgresql.Config{
							Dir:      dir,
							CPUs:     cpus,
							Settings: postgresql.ForStandbys(),
						})
					},
					"mysql": func(ctx context.Context, dir string, cpus []int) (target.Database, error) {
						return mysql.Start(ctx, mysql.Config{
							Dir:      dir,
							CPUs:     cpus,
							Settings: mysql.ForMirrors(),
						})
					},
				},
				StartReplica: func(ctx context.Context, of target.Database, dir string, cpus []int, index int) (target.Replica, error) {
					return of.(*database.Server).StartReplica(ctx, database.Config{
						Dir:  dir,
						CPUs: cpus,
					}, index)
				},
				Provision: func(ctx context.Context, at target.Endpoint) error {
					visit(t, ctx, at.URL())
					return nil
				},
			}
			s := spec(t.TempDir(), engine)
			s.Env["INFO"] = "${DSN_REPLICAS}"
			dep, err := process.New(conf).Deploy(t.Context(), s)
			failure.None(t, err)
			t.Cleanup(func() { failure.None(t, dep.Stop(context.Background())) })
			ctx := t.Context()
			same := func(when string) {
				t.Helper()
				dsns := dep.(interface{ ReplicaDSNs() []string }).ReplicaDSNs()
				if len(dsns) != 1 || len(dep.PIDs()["replica"]) != 1 {
					t.Fatalf("%s: %d addresses, processes %v", when, len(dsns), dep.PIDs())
				}
				if got, _, _ := strings.Cut(get(t, ctx, dep.URL()+"/info"), " "); got != dsns[0] {
					t.Errorf("%s: the program has another address than the replica's", when)
				}
				kind, dsn := "pgx", dsns[0]
				if engine == "mysql" {
					kind, dsn = "mysql", strings.TrimPrefix(dsn, "mysql://")
				}
				db, err := sql.Open(kind, dsn)
				failure.None(t, err)
				defer db.Close()
				var n int
				if err := db.QueryRowContext(ctx, "SELECT count(*) FROM visits").Scan(&n); err != nil ||
					n != 1 {
					t.Errorf(
						"%s: the replica holds %d visits, %v; want that of the provisioning",
						when,
						n,
						err,
					)
				}
			}
			same("deployed")
			visit(t, ctx, dep.URL())
			failure.None(t, dep.Reset(ctx))
			same("reset")
			if err := halt(ctx, dep); err != nil || len(dep.PIDs()) != 0 {
				t.Fatalf("halted: %v, processes %v", err, dep.PIDs())
			}
			failure.None(t, dep.Reset(ctx))
			same("reset after a halt")
			if d := dep.Describe().Companions["replica-0"]; d.Name == "" || d.Version == "" {
				t.Errorf("described as %+v", d)
			}
		})
	}
}

func visit(t *testing.T, ctx context.Context, url string) {
	t.Helper()
	if got := get(t, ctx, url+"/visit"); got == "" {
		t.Error("no visit")
	}
}
