package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/record"
	"plimsoll/studies/study"
	"plimsoll/target/lab"
	"plimsoll/target/lab/netns"
	"plimsoll/target/lab/postgresql"
)

const (
	// serverHost is the host of the reference server, and serverPort its port.
	serverHost = "server"
	serverPort = 8065
	// fleetPort is the coordinator's.
	fleetPort = 4222
	// adminPassword is the administrator's, in namespaces that nothing else reaches.
	adminPassword = "Fleetshow-sample-1"
	// readyWithin is how long a program may take until it is ready.
	readyWithin = 20 * time.Second
)

// A stage is the network with its programs.
type stage struct {
	*show
	*study.Lab // its side is the coordinator's
	server     *lab.Process
	agents     []*lab.Process
}

func agentHost(k int) string { return fmt.Sprintf("host-%d", k) }

// build makes the stage, without a server and agents. The caller must call Down, also after an
// error.
func (s *show) build(ctx context.Context) (*stage, error) {
	hosts := []string{serverHost}
	for k := range s.hosts {
		hosts = append(hosts, agentHost(k))
	}
	net, err := study.NewLab(ctx, "coordinator", netns.LANConfig{Hosts: hosts})
	st := &stage{show: s, Lab: net}
	if err != nil {
		return st, err
	}
	if err := st.Serve(ctx, serverHost, postgresql.Config{
		Dir:  filepath.Join(s.dir, "pg"),
		CPUs: s.serverCPUs,
	}); err != nil {
		return st, err
	}
	return st, st.DB.Snapshot(ctx, study.Database)
}

// url is where users reach the server.
func (st *stage) url() string {
	return fmt.Sprintf("http://%s:%d", st.Addr(serverHost), serverPort)
}

// door is where agents reach the coordinator.
func (st *stage) door() string { return fmt.Sprintf("%s:%d", st.UsersAddr(), fleetPort) }

// fresh starts the server with an empty database.
func (st *stage) fresh(ctx context.Context) error {
	if st.server != nil {
		if err := st.server.Stop(ctx); err != nil {
			return err
		}
		if err := st.DB.Restore(ctx, study.Database); err != nil {
			return err
		}
	}
	dsn, err := st.DSN("")
	if err != nil {
		return err
	}
	st.server, err = st.Start(ctx, serverHost, lab.Spec{
		Name: "refchat",
		Path: st.program,
		CPUs: st.serverCPUs,
		Args: append(
			[]string{"refchat", fmt.Sprintf("-listen=:%d", serverPort), "-hash=bcrypt:4"},
			st.serverArgs...),
		Env: append(os.Environ(), "REFCHAT_DSN="+dsn, "REFCHAT_ADMIN_PASSWORD="+adminPassword),
	})
	if err != nil {
		return err
	}
	return st.server.Says(ctx, "listening on", readyWithin)
}

// join starts the agents.
func (st *stage) join(ctx context.Context) error {
	for k := range st.hosts * st.show.agents {
		if err := st.joinOne(ctx, k, st.program, "agent"); err != nil {
			return err
		}
	}
	return nil
}

// joinOne makes the token of agent k if there is none, and starts a program as that agent on its
// host.
func (st *stage) joinOne(ctx context.Context, k int, program string, args ...string) error {
	token := filepath.Join(st.dir, fmt.Sprintf("agent-%d.nk", k))
	if _, err := os.Stat(token); err != nil {
		p, err := lab.Start(ctx, lab.Spec{
			Name: "plimsoll fleet",
			Path: st.program,
			Args: []string{"fleet", "-fleet-keys", st.keys(), "-new-token", token},
		})
		if err != nil {
			return err
		}
		<-p.Done()
		if err := p.Err(); err != nil {
			return fmt.Errorf("making a token: %w\n%s", err, p.Tail())
		}
	}
	p, err := st.Start(ctx, agentHost(k%st.hosts), lab.Spec{
		Name: fmt.Sprintf("agent %d", k),
		Path: program,
		CPUs: st.agentCPUs,
		Args: append(args, "-join", "nats://"+st.door(), "-token-file", token),
	})
	if err == nil {
		st.agents = append(st.agents, p)
	}
	return err
}

// command starts the program under test in a namespace, with the secrets of the plan.
func (st *stage) command(
	ctx context.Context,
	in *netns.Namespace,
	out *lab.Transcript,
	args ...string,
) (*lab.Process, error) {
	return st.StartIn(ctx, in, lab.Spec{
		Name:        "plimsoll " + args[0],
		Path:        st.program,
		Args:        args,
		CPUs:        st.agentCPUs,
		Stdout:      out,
		Stderr:      out,
		Env:         append(os.Environ(), "FLEETSHOW_ADMIN="+adminPassword),
		StopTimeout: 30 * time.Second,
	})
}

// carry carries out the plan text as the run of a name, and returns the run. It is an error when
// the run did not end by itself; a run that is not valid is none.
func (st *stage) carry(
	ctx context.Context,
	name, text string,
	in *netns.Namespace,
) (*record.Run, error) {
	if err := st.fresh(ctx); err != nil {
		return nil, err
	}
	file := filepath.Join(st.dir, name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return nil, err
	}
	store := filepath.Join(st.dir, name)
	out := new(lab.Transcript)
	args := []string{"run", "-store", store, "-calibrate=false"}
	if strings.Contains(text, "agents:") {
		args = append(args, "-fleet-listen", st.door(), "-fleet-keys", st.keys())
	}
	p, err := st.command(ctx, in, out, append(args, file)...)
	if err != nil {
		return nil, err
	}
	if err := st.ended(ctx, p, st.ramp+st.settle+st.measure+3*time.Minute); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", name, err, out.String())
	}
	r, err := only(store)
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", name, err, out.String())
	}
	return r, nil
}

// keys is the coordinator's key file.
func (st *stage) keys() string { return filepath.Join(st.dir, "fleet", "fleet.json") }

// ended waits for a process; one that takes longer is stopped.
func (st *stage) ended(ctx context.Context, p *lab.Process, within time.Duration) error {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-p.Done():
		return nil
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.Stop(context.WithoutCancel(ctx)))
	case <-t.C:
		return errors.Join(fmt.Errorf("it has not ended within %v", within), p.Stop(ctx))
	}
}

// only opens the only run of a store, which must have ended by itself.
func only(store string) (*record.Run, error) {
	dirs, err := filepath.Glob(filepath.Join(store, "runs", "*"))
	if err != nil {
		return nil, err
	}
	if len(dirs) != 1 {
		return nil, fmt.Errorf("there are %d runs, want one", len(dirs))
	}
	r, err := record.Open(dirs[0])
	if err == nil && r.Manifest.State != record.Sealed {
		err = fmt.Errorf("the run is %s: %+v", r.Manifest.State, r.Validity.Findings)
	}
	return r, err
}
