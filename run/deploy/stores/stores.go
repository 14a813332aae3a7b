package stores

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/plan"
	"plimsoll/reference/dataset/dump"
	"plimsoll/target"
	"plimsoll/target/lab"
	"plimsoll/target/lab/database"
	"plimsoll/target/lab/mysql"
	"plimsoll/target/lab/postgresql"
)

// A Side is a network namespace and an address in it at which servers listen. The zero value is
// 127.0.0.1 in the network of this program.
type Side struct{ NetNS, Addr string }

// Host returns the address alone.
func (s Side) Host() string { return cmp.Or(s.Addr, "127.0.0.1") }

// A Server is a supervised database server. The caller that starts one stops it.
type Server = database.Server

// Databases returns the supervisors of a server's database by engine. The databases listen at a
// side and begin with the data of a dump unless it is nil. Those of a topology with replicas can
// be copied.
func Databases(filled *dump.Dump, at Side, around *plan.Topology) map[string]target.StartDatabase {
	all := map[string]target.StartDatabase{}
	for engine, replicable := range map[string]func() map[string]string{
		plan.PostgreSQL: postgresql.ForStandbys,
		plan.MySQL:      mysql.ForMirrors,
	} {
		all[engine] = func(ctx context.Context, dir string, cpus []int) (target.Database, error) {
			conf := database.Config{Dir: dir, CPUs: cpus, NetNS: at.NetNS, Addr: at.Addr}
			if filled != nil {
				conf.Data = filled.Data()
				// The directory above is the system's by now.
				if err := placeFiles(ctx, filled, filepath.Dir(dir)); err != nil {
					return nil, err
				}
			}
			if around != nil && around.Replicas > 0 {
				conf.Settings = replicable()
			}
			s, err := start(ctx, engine, conf)
			if err != nil {
				return nil, err // not a nil *Server as a Database
			}
			return s, nil
		}
	}
	return all
}

// start starts a server of an engine that a plan may name.
func start(ctx context.Context, engine string, conf database.Config) (*Server, error) {
	if engine == plan.MySQL {
		return mysql.Start(ctx, conf)
	}
	return postgresql.Start(ctx, conf)
}

// Missing returns an error if the programs of an engine are not installed here. obtained reports
// that they will be obtained when they are needed. An unknown engine lacks nothing.
func Missing(engine string) (obtained bool, err error) {
	switch engine {
	case plan.PostgreSQL:
		err = postgresql.Missing()
		return err != nil, err
	case plan.MySQL:
		return mysql.Missing()
	}
	return false, nil
}

// placeFiles copies the attachments of a dump to the directory in which the reference server
// looks for them.
func placeFiles(ctx context.Context, d *dump.Dump, dir string) error {
	if d.Files() == "" {
		return nil
	}
	if err := lab.MkdirState(dir); err != nil {
		return err
	}
	return lab.ReplaceTree(ctx, filepath.Join(dir, "files"), d.Files(), nil)
}

// Start starts a database server with its state in dir. Its data are copied from the directory
// from, or are new if that is empty. reset names a way of package lab in which resets copy data;
// empty chooses the best of this host. The caller stops the server. An unknown engine or way is a
// [plan.UsageError].
func Start(ctx context.Context, engine, dir, from, reset string,
	settings map[string]string) (*Server, error) {
	way := lab.Copying(reset)
	if !slices.Contains([]lab.Copying{lab.Auto, lab.Plain, lab.Reflink, lab.Image}, way) {
		return nil, plan.Usagef("a reset by %q: want %s, %s or %s",
			reset, lab.Plain, lab.Reflink, lab.Image)
	}
	if engine != plan.PostgreSQL && engine != plan.MySQL {
		return nil, plan.Usagef("engine %q: want %s or %s", engine, plan.PostgreSQL, plan.MySQL)
	}
	return start(ctx, engine, database.Config{Dir: dir, Data: from, Reset: way, Settings: settings})
}

// Temporarily calls do with a database server as [Start] starts it, and removes the server
// afterwards. Its state is beside the path near, on the same disk.
func Temporarily(ctx context.Context, engine, near, from string, settings map[string]string,
	do func(*Server) error) (err error) {
	dir, err := Scratch(near)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, RemoveState(dir)) }()
	s, err := Start(ctx, engine, dir, from, string(lab.Plain), settings) // it is not reset
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, s.Stop(ctx))
	}()
	return do(s)
}

// Scratch makes a directory beside the path near that users of database servers may enter. It
// first removes the scratch directories of killed programs there, whose servers ended with them.
// The caller calls [RemoveState].
func Scratch(near string) (string, error) {
	beside := filepath.Dir(filepath.Clean(near)) // filepath.Dir("a/b/") is a/b itself
	if err := lab.MkdirState(beside); err != nil {
		return "", err
	}
	old, _ := filepath.Glob(filepath.Join(beside, ".dataset-*-*")) // the pattern is a good one
	for _, path := range old {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), ".dataset-"), "-")
		if n, err := strconv.Atoi(pid); err == nil && errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			_ = RemoveState(path)
		}
	}
	dir, err := os.MkdirTemp(beside, fmt.Sprintf(".dataset-%d-", os.Getpid()))
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711)
}

// RemoveState removes the state directory of a server, or of several in directories below it. It
// also removes the directories that stand for these where the user of a server cannot reach them.
func RemoveState(dir string) error {
	dirs := []string{dir}
	entries, _ := os.ReadDir(dir) // the last call reports an unreadable one
	for _, e := range entries {
		dirs = append(dirs, filepath.Join(dir, e.Name()))
	}
	var errs []error
	for _, at := range dirs {
		if other, ok := lab.StandIn(at); ok {
			errs = append(errs, os.RemoveAll(other))
		}
	}
	return errors.Join(append(errs, os.RemoveAll(dir))...)
}
