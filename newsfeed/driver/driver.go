// Package driver deploys the reference news feed with its stores as the target of a test, and reads
// the telemetry that it leaves behind.
package driver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/newsfeed"
	"plimsoll/newsfeed/await"
	"plimsoll/newsfeed/jvm"
	"plimsoll/newsfeed/redis"
	"plimsoll/newsfeed/server"
	"plimsoll/run/deploy"
	"plimsoll/run/deploy/stores"
	"plimsoll/target"
	"plimsoll/target/lab"
	"plimsoll/target/process"
)

// New returns the driver of a program that has the verb [newsfeed.Driver], which runs the service
// and its own stores.
func New() deploy.OwnDriver {
	return deploy.OwnDriver{Configure: func(conf *process.Config, profile string, at stores.Side) {
		conf.Database = newsfeed.Driver
		conf.Command, conf.Companions = feedCommand(profile), feedCompanions(profile, at)
	}}
}

// fullPatience is the service's -store-timeout in the full profile, unless the plan's args say
// another: a young Java process on a small host may take seconds for its first answers.
const fullPatience = "10s"

// feedCompanions are the stores of a profile: Redis, and in the quick one this program's own in the
// places of Cassandra, OpenSearch and Kafka.
func feedCompanions(profile string, at stores.Side) map[string]target.StartCompanion {
	all := map[string]target.StartCompanion{
		"cache": func(ctx context.Context, dir string, cpus []int) (target.Companion, error) {
			conf := redis.Config{Dir: dir, CPUs: cpus, NetNS: at.NetNS, Addr: at.Addr}
			return started(redis.Start(ctx, conf))
		},
	}
	for _, st := range feedStores {
		all[st.role] = func(ctx context.Context, dir string, cpus []int) (target.Companion, error) {
			if profile != newsfeed.Full {
				return started(startOwnStore(ctx, st.role, st.title, dir, cpus, at))
			}
			return started(st.start(ctx, jvm.Config{
				Dir:     dir,
				CPUs:    cpus,
				NetNS:   at.NetNS,
				Addr:    at.Addr,
				Journal: storeJournal(dir, st.role),
			}))
		}
	}
	return all
}

// started is a companion, or no value with an error.
func started[C target.Companion](c C, err error) (target.Companion, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// feedStores are the stores besides the database and the cache.
var feedStores = []struct {
	role, title string
	scheme      string // of the real one's address
	start       func(context.Context, jvm.Config) (*jvm.Server, error)
}{
	{server.KindWide, "Cassandra", "cassandra://", jvm.StartCassandra},
	{server.KindSearch, "OpenSearch", "http://", jvm.StartOpenSearch},
	{server.KindBus, "Kafka", "kafka://", jvm.StartKafka},
}

// storeJournal is the undo journal of a store. It stands beside the store's directory, which is
// emptied before each start.
func storeJournal(dir, role string) string {
	return filepath.Join(filepath.Dir(dir), role+".journal")
}

// An ownStore is this program as a store of the news feed.
type ownStore struct {
	*lab.Process
	addr, other string
}

// startOwnStore starts it on a free port and waits until it answers.
func startOwnStore(
	ctx context.Context,
	kind, other, dir string,
	cpus []int,
	at stores.Side,
) (*ownStore, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	port, err := lab.FreePort()
	if err != nil {
		return nil, err
	}
	s := &ownStore{addr: net.JoinHostPort(at.Host(), strconv.Itoa(port)), other: other}
	s.Process, err = lab.Start(ctx, lab.Spec{
		Name:        kind + " store",
		Path:        exe,
		Args:        []string{newsfeed.Driver, "store", "-kind", kind, "-listen", s.addr, "-dir", dir},
		CPUs:        cpus,
		NetNS:       at.NetNS,
		Journal:     storeJournal(dir, kind),
		StopTimeout: 3 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	listens := func(ctx context.Context) error { return await.Listener(ctx, s.addr) }
	err = await.Ready(ctx, s.Process, 15*time.Second, 10*time.Millisecond, listens)
	if err != nil {
		return nil, errors.Join(s.Failed(err), s.Kill())
	}
	return s, nil
}

// Addr implements target.Companion.
func (s *ownStore) Addr() string { return s.addr }

// Describe implements target.Companion.
func (s *ownStore) Describe(context.Context) (lab.ProgramInfo, error) {
	return lab.ProgramInfo{Name: "built-in, in the place of " + s.other, Version: server.Version(),
		Settings: map[string]string{"sync": server.DefaultSync.String()}}, nil
}

// feedAddress is the address of a profile's store, in the service's format.
func feedAddress(profile, role, hostport string) string {
	for _, st := range feedStores {
		if profile == newsfeed.Full && st.role == role {
			return st.scheme + hostport
		}
	}
	return hostport
}

// feedCommand starts this program's news feed, or another build of it, with the stores of a
// profile.
func feedCommand(profile string) func(target.Spec, process.Instance) (process.Command, error) {
	return func(spec target.Spec, _ process.Instance) (process.Command, error) {
		args := []string{newsfeed.Driver, "-listen=${HOSTPORT}", "-redis=${CACHE}"}
		for _, st := range feedStores {
			args = append(
				args,
				"-"+st.role+"="+feedAddress(profile, st.role, "${"+strings.ToUpper(st.role)+"}"),
			)
		}
		if profile == newsfeed.Full {
			args = append(args, "-store-timeout="+fullPatience)
		}
		env := map[string]string{"NEWSFEED_DSN": "${DSN}"}
		if n := len(spec.CPUs); n > 0 {
			env["GOMAXPROCS"] = strconv.Itoa(n)
		}
		return process.Command{Path: spec.Binary, Args: append(args, spec.Args...), Env: env}, nil
	}
}
