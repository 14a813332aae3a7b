package process_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"plimsoll/internal/failure"
	"plimsoll/target"
	"plimsoll/target/lab"
	"plimsoll/target/lab/mysql"
	"plimsoll/target/lab/postgresql"
	"plimsoll/target/process"
)

// deadline bounds a whole test; the slowest machine needs a small part of it.
const deadline = 5 * time.Minute

// TestMain lets the test binary play the server under test, and the program that deploys one.
func TestMain(m *testing.M) {
	switch os.Getenv("PROCESS_TEST_ROLE") {
	case "server":
		serve()
	case "deployer":
		deployAndWait()
	case "pausing":
		deployAndPause()
	default:
		os.Exit(m.Run())
	}
}

// serve counts visits in a database table, which it makes when it starts for the first time.
func serve() {
	fatal := func(err error) {
		if err != nil {
			fmt.Println("server:", err)
			os.Exit(1)
		}
	}
	if os.Getenv("TALK") != "" {
		fmt.Println("my secret is", os.Getenv("TOKEN"), "and my database", os.Getenv("DSN"))
		os.Exit(7)
	}
	var db *sql.DB
	if dsn := os.Getenv("DSN"); dsn != "" {
		kind := "pgx"
		if os.Getenv("ENGINE") == "mysql" {
			kind, dsn = "mysql", os.Getenv("DSN_BARE")
		}
		var err error
		db, err = sql.Open(kind, dsn)
		fatal(err)
		_, err = db.Exec("CREATE TABLE IF NOT EXISTS visits (who varchar(20))")
		fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("/info", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, os.Getenv("INFO"), " ", os.Getpid(), " ", os.Getenv("TOKEN"))
	})
	mux.HandleFunc("/temp", func(w http.ResponseWriter, _ *http.Request) {
		made, err := os.MkdirTemp("", "x-")
		fmt.Fprint(w, made)
		if err != nil {
			fmt.Println("making a temporary directory:", err)
		}
	})
	mux.HandleFunc("/dsn", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, os.Getenv("DSN"))
	})
	mux.HandleFunc("/visit", func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, err := db.ExecContext(r.Context(), "INSERT INTO visits VALUES ('a')")
		if err == nil {
			err = db.QueryRowContext(r.Context(), "SELECT count(*) FROM visits").Scan(&n)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, n)
	})
	srv := &http.Server{Addr: os.Args[1], Handler: mux}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT)
	signal.Ignore(syscall.SIGTERM) // only the configured signal ends it in order
	go func() {
		<-stop
		fmt.Println("asked to stop")
		srv.Close()
	}()
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		fatal(err)
	}
}

func driver(conf process.Config) *process.Launcher {
	conf.Databases = map[string]target.StartDatabase{
		"postgresql": func(ctx context.Context, dir string, cpus []int) (target.Database, error) {
			return postgresql.Start(ctx, postgresql.Config{Dir: dir, CPUs: cpus})
		},
		"mysql": func(ctx context.Context, dir string, cpus []int) (target.Database, error) {
			return mysql.Start(ctx, mysql.Config{Dir: dir, CPUs: cpus})
		},
	}
	return process.New(conf)
}

// spec runs this test binary as the server.
func spec(dir, engine string) target.Spec {
	s := target.Spec{
		Name:   "arm",
		Binary: os.Args[0],
		Args:   []string{"${HOSTPORT}"},
		Engine: engine,
		Dir:    dir,
		Env: map[string]string{
			"PROCESS_TEST_ROLE": "server",
			"INFO":              "${INDEX}/${INSTANCES} ${PEERS} $$",
		},
		Secrets:    map[string]string{"TOKEN": "hush-hush"},
		Ready:      "/ready",
		MetricsURL: "/metrics",
		StopSignal: "SIGINT",
	}
	if engine != "" {
		s.Env["DSN"] = "${DSN}"
		s.Env["DSN_BARE"] = "${DSN_BARE}"
		s.Env["ENGINE"] = "${DB_ENGINE}"
	}
	return s
}

func deploy(t *testing.T, conf process.Config, s target.Spec) (context.Context, target.Deployment) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	dep, err := driver(conf).Deploy(ctx, s)
	failure.None(t, err)
	t.Cleanup(func() { failure.None(t, dep.Stop(context.Background())) })
	return ctx, dep
}

// visits visits the server, and expects a number of visits since the state of the first run.
func visits(t *testing.T, ctx context.Context, dep target.Deployment, want int) {
	t.Helper()
	if got := get(t, ctx, dep.URL()+"/visit"); got != strconv.Itoa(want) {
		t.Errorf("visit %s, want %d", got, want)
	}
}

func halt(ctx context.Context, dep target.Deployment) error {
	return dep.(interface{ Halt(context.Context) error }).Halt(ctx)
}

func get(t *testing.T, ctx context.Context, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	failure.None(t, err)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	failure.None(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", url, resp.Status, err, b)
	}
	return string(b)
}

func identities(t *testing.T, pids map[string][]int) (ids []lab.Identity) {
	t.Helper()
	for _, list := range pids {
		for _, pid := range list {
			id, err := lab.Identify(pid)
			failure.None(t, err)
			ids = append(ids, id)
		}
	}
	return ids
}

func gone(t *testing.T, ids []lab.Identity) {
	t.Helper()
	for _, id := range ids {
		failure.Unless(t, func() bool { return !id.Alive() }, id, " survived")
	}
}

// TestRuns deploys the server on each engine, and expects every run to begin as the first one did.
func TestRuns(t *testing.T) {
	for _, engine := range []string{"postgresql", "mysql"} {
		t.Run(engine, func(t *testing.T) {
			dir := t.TempDir()
			all, err := lab.AllowedCPUs(0)
			failure.None(t, err)
			s := spec(dir, engine)
			s.CPUs = all[:1]
			ctx, dep := deploy(t, process.Config{
				Provision: func(ctx context.Context, at target.Endpoint) error {
					for want := 1; want <= 2; want++ {
						if got := get(t, ctx, at.URL()+"/visit"); got != strconv.Itoa(want) {
							return fmt.Errorf("visit %d while provisioning is %s", want, got)
						}
					}
					return nil
				},
			}, s)
			url := dep.URL()
			var last []lab.Identity
			for range 3 {
				for want := 3; want <= 5; want++ {
					visits(t, ctx, dep, want)
				}
				if d, ok := dep.(interface{ DSN() string }); !ok ||
					d.DSN() != get(t, ctx, dep.URL()+"/dsn") {
					t.Error("DSN() is not what the program was given")
				}
				pids := dep.PIDs()
				if len(pids["app"]) != 1 || len(pids["db"]) != 1 {
					t.Fatalf("PIDs() = %v, want one app and one db", pids)
				}
				for role, list := range pids {
					if got, err := lab.AllowedCPUs(list[0]); err != nil ||
						!slices.Equal(got, all[:1]) {
						t.Errorf("%s may use CPUs %v (%v), want %v", role, got, err, all[:1])
					}
				}
				ids := identities(t, pids)
				gone(t, last)
				last = ids
				began := time.Now()
				failure.None(t, dep.Reset(ctx))
				t.Logf("reset took %v", time.Since(began))
				if dep.URL() != url {
					t.Errorf("URL changed at the reset from %s to %s", url, dep.URL())
				}
			}
			gone(t, last)
			d := dep.Describe()
			if d.Database == nil || d.Database.Name == "" || d.Database.Version == "" ||
				len(d.Database.Settings) < 5 {
				t.Errorf("description of the database: %+v", d.Database)
			}
			if d.Env["TOKEN"] != target.Hidden || d.Env["DSN"] != "${DSN}" || len(d.Digest) != 64 ||
				d.Engine != engine {
				t.Errorf("description: %+v", d)
			}
			last = identities(t, dep.PIDs())
			failure.None(t, dep.Stop(ctx))
			gone(t, last)
			if err := dep.Reset(ctx); err == nil {
				t.Error("a stopped target was reset")
			}
			log, err := os.ReadFile(filepath.Join(dir, "app-0.log"))
			if err != nil || strings.Count(string(log), "asked to stop") != 5 {
				t.Errorf(
					"the program's log (%v) does not tell of 5 stops by the configured signal:\n%s",
					err,
					log,
				)
			}
		})
	}
}

func TestInstances(t *testing.T) {
	s := spec(t.TempDir(), "")
	s.Instances = 3
	ctx, dep := deploy(t, process.Config{}, s)
	var ports []int
	for _, u := range dep.URLs() {
		p, err := strconv.Atoi(u[strings.LastIndex(u, ":")+1:])
		failure.None(t, err)
		ports = append(ports, p)
	}
	if len(ports) != 3 || ports[1] != ports[0]+1 || ports[2] != ports[0]+2 {
		t.Errorf("ports %v, want 3 consecutive ones", ports)
	}
	pids := dep.PIDs()["app"]
	if len(pids) != 3 {
		t.Fatalf("PIDs() = %v, want 3", pids)
	}
	for i, u := range dep.URLs() {
		want := fmt.Sprintf(
			"%d/3 127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d $ %d hush-hush",
			i,
			ports[0],
			ports[1],
			ports[2],
			pids[i],
		)
		if got := get(t, ctx, u+"/info"); got != want {
			t.Errorf("instance %d says %q, want %q", i, got, want)
		}
	}
	want := []string{
		dep.URLs()[0] + "/metrics",
		dep.URLs()[1] + "/metrics",
		dep.URLs()[2] + "/metrics",
	}
	if got := dep.MetricsURLs(); !slices.Equal(got, want) {
		t.Errorf("MetricsURLs() = %v, want %v", got, want)
	}
}

func TestCommandIsConfigurable(t *testing.T) {
	s := spec(t.TempDir(), "")
	s.Binary, s.Args = "", []string{"-fault=none"}
	_, dep := deploy(t, process.Config{
		Name: "mine",
		Command: func(s target.Spec, in process.Instance) (process.Command, error) {
			return process.Command{
				Path: os.Args[0],
				Args: append([]string{fmt.Sprintf("127.0.0.1:%d", in.Ports[0])}, s.Args...),
			}, nil
		},
	}, s)
	d := dep.Describe()
	if d.Driver != "mine" || len(d.Command) != 3 || d.Command[2] != "-fault=none" {
		t.Errorf("description: driver %q, command %q", d.Driver, d.Command)
	}
}

func TestDeployErrors(t *testing.T) {
	tests := []struct {
		name   string
		change func(*target.Spec)
		conf   process.Config
		err    []string
	}{
		{"no program", func(s *target.Spec) {
			s.Binary = ""
		}, process.Config{}, []string{"deploying arm: ", "a program is required"}},
		{"no such program", func(s *target.Spec) {
			s.Binary = "/no/such/thing"
		}, process.Config{}, []string{"/no/such/thing"}},
		{"no directory", func(s *target.Spec) {
			s.Dir = ""
		}, process.Config{}, []string{"state directory is required"}},
		{"unknown engine", func(s *target.Spec) {
			s.Engine = "oracle"
		}, process.Config{}, []string{`unknown database engine "oracle"`, `"mysql" "postgresql"`}},
		{"unknown signal", func(s *target.Spec) {
			s.StopSignal = "SIGNOTHING"
		}, process.Config{}, []string{"SIGNOTHING"}},
		{"unknown CPU", func(s *target.Spec) {
			s.CPUs = []int{4000}
		}, process.Config{}, []string{"no CPU 4000"}},
		{"too many instances", func(s *target.Spec) {
			s.Instances = 1000
		}, process.Config{}, []string{"instances: 1000"}},
		{"unknown variable", func(s *target.Spec) {
			s.Args = []string{"${PROT}"}
		}, process.Config{}, []string{"argument 1", "${PROT}"}},
		{"a secret in arguments", func(s *target.Spec) {
			s.Args = []string{"-dsn=${DSN}"}
		}, process.Config{}, []string{"argument 1", "every user of this host", "environment"}},
		{"a database variable without a database", func(s *target.Spec) {
			s.Env["X"] = "${DSN}"
		}, process.Config{}, []string{"variable X", "name an engine"}},
		{"never ready", func(s *target.Spec) {
			s.Ready = "/nothing"
		}, process.ReadyWithin(500 * time.Millisecond), []string{"instance 0", "not ready within 500ms", "404"}},
		{"ends at once", func(s *target.Spec) {
			s.Env["TALK"] = "1"
		}, process.Config{}, []string{"ended before it was ready", "exit status 7", "my secret is (secret) and"}},
		{
			"provisioning fails",
			func(*target.Spec) {},
			process.Config{Provision: func(context.Context, target.Endpoint) error {
				return errors.New("no users")
			}},
			[]string{"provisioning: no users (log of the server: ", "app-0.log)"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := spec(t.TempDir(), "")
			tt.change(&s)
			dep, err := driver(tt.conf).Deploy(t.Context(), s)
			if err == nil {
				_ = dep.Stop(t.Context())
				t.Fatal("deployed")
			}
			for _, want := range tt.err {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Deploy() error = %v\nwant %q in it", err, want)
				}
			}
			if strings.Contains(err.Error(), "hush-hush") {
				t.Errorf("the error tells a secret: %v", err)
			}
			if left := running(t, s.Dir); len(left) != 0 {
				t.Errorf("processes %v are left", left)
			}
		})
	}
}

// TestHalt halts a deployment, as a comparison does while another arm is measured, and expects
// Reset to bring it back in the state of the first run.
func TestHalt(t *testing.T) {
	for _, engine := range []string{"postgresql", "mysql"} {
		t.Run(engine, func(t *testing.T) {
			dir := t.TempDir()
			ctx, dep := deploy(t, process.Config{}, spec(dir, engine))
			visits(t, ctx, dep, 1)
			for range 2 {
				failure.None(t, halt(ctx, dep))
				if left := running(t, dir); len(left) != 0 || len(dep.PIDs()) != 0 {
					t.Errorf("%v run while halted; PIDs() = %v", left, dep.PIDs())
				}
			}
			failure.None(t, dep.Reset(ctx))
			visits(t, ctx, dep, 1)
		})
	}
}

// running returns the processes whose command line, working directory or environment names a
// directory.
func running(t *testing.T, dir string) (found []string) {
	t.Helper()
	if dir == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(dir)
	failure.None(t, err)
	dirs := []string{dir, real}
	elsewhere, err := filepath.Glob(filepath.Join(dir, "*", "elsewhere"))
	failure.None(t, err)
	for _, link := range elsewhere {
		if to, err := os.Readlink(link); err == nil {
			dirs = append(dirs, to)
		}
	}
	procs, err := filepath.Glob("/proc/[0-9]*")
	failure.None(t, err)
	for _, p := range procs {
		cmdline, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		cwd, _ := os.Readlink(filepath.Join(p, "cwd"))
		for _, d := range dirs {
			if strings.Contains(string(cmdline), d) || strings.HasPrefix(cwd, d) {
				found = append(found, p+" "+string(cmdline))
				break
			}
		}
	}
	return found
}

// TestCancelWhileDeploying cancels at several moments of a deployment and expects nothing to be
// left.
func TestCancelWhileDeploying(t *testing.T) {
	for _, engine := range []string{"postgresql", "mysql"} {
		for _, after := range []time.Duration{10 * time.Millisecond, 150 * time.Millisecond, 600 * time.Millisecond, 1200 * time.Millisecond} {
			t.Run(fmt.Sprint(engine, " ", after), func(t *testing.T) {
				dir := t.TempDir()
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				conf := process.Config{
					Provision: func(ctx context.Context, _ target.Endpoint) error {
						<-ctx.Done() // the last moment comes at the latest here
						return ctx.Err()
					},
				}
				dep, err := driver(conf).Deploy(ctx, spec(dir, engine))
				if err == nil {
					_ = dep.Stop(context.Background())
					t.Fatal("deployed in spite of the cancellation")
				}
				// The workers of a killed postmaster see its end through a pipe, a moment later.
				failure.Unless(t, func() bool {
					return len(running(t, dir)) == 0
				}, "processes are left")
			})
		}
	}
}

// TestLockOfAKilledProgram: a killed program can hold its directory for a moment longer than it and
// its children are seen.
func TestLockOfAKilledProgram(t *testing.T) {
	dir := t.TempDir()
	held, err := os.Create(filepath.Join(dir, "lock"))
	failure.None(t, err)
	failure.None(t, syscall.Flock(int(held.Fd()), syscall.LOCK_EX))
	timer := time.AfterFunc(100*time.Millisecond, func() { _ = held.Close() })
	defer timer.Stop()
	deploy(t, process.Config{}, spec(dir, ""))
}

// TestHaltedIsInUse checks that no other deployment may use the directory of a halted one, although
// nothing runs in it.
func TestHaltedIsInUse(t *testing.T) {
	dir := t.TempDir()
	ctx, dep := deploy(t, process.Config{}, spec(dir, "postgresql"))
	failure.None(t, halt(ctx, dep))
	other, err := driver(process.Config{}).Deploy(ctx, spec(dir, "postgresql"))
	if err == nil {
		_ = other.Stop(ctx)
	}
	failure.Is(t, err, lab.ErrInUse)
	failure.None(t, dep.Reset(ctx))
	failure.None(t, dep.Stop(ctx))
	deploy(t, process.Config{}, spec(dir, "postgresql")) // free again
}

// TestTemporaryFilesOfAKilledProgram: they lie in the state directory, and not beyond its next
// start.
func TestTemporaryFilesOfAKilledProgram(t *testing.T) {
	dir := t.TempDir()
	ctx, dep := deploy(t, process.Config{}, spec(dir, ""))
	made := get(t, ctx, dep.URL()+"/temp")
	if !strings.HasPrefix(made, dir) {
		t.Errorf("temporary files are in %s, want below %s", made, dir)
	}
	failure.None(t, syscall.Kill(dep.PIDs()["app"][0], syscall.SIGKILL))
	failure.None(t, dep.Reset(ctx))
	failure.Gone(t, made)
}
