package verbs

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"strings"

	"plimsoll/cmd/internal/own"
	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/load/fleet"
	"plimsoll/plan"
	"plimsoll/rig"
	"plimsoll/watch/probe/agent"
)

// probeFlags are those of agent -probe.
type probeFlags struct {
	listen, tokenFile, cert, key, cpus string
	what                               agent.What
}

func (f *probeFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&f.listen, "listen", "", "-probe: `address` to listen at, such as 10.0.0.4:9443")
	fs.StringVar(&f.tokenFile, "token-file", "", "-join: `file` that plimsoll fleet -new-token has made; -probe: file with the token that readers must show; only its owner and group may read it")
	fs.StringVar(&f.cert, "cert", "", "-probe: `file` with the certificate, in PEM (default: a new self-made one at each start)")
	fs.StringVar(&f.key, "key", "", "-probe: `file` with the certificate's key, in PEM")
	fs.StringVar(&f.what.Role, "role", "", "-probe: the `role` of this host, such as proxy; it becomes the label of all series")
	fs.StringVar(&f.cpus, "cpus", "", "-probe: `cores` of the role when it shares the host, such as 0,2-3 (default: all)")
	fs.Func("pid", "-probe: also watch a process with its children and control group: `ROLE=FILE` that holds its number, or ROLE=NUMBER; again for more", f.addPID)
	fs.Func("nic", "-probe: also watch this network `device`; again for more", func(s string) error {
		f.what.NICs = append(f.what.NICs, s)
		return nil
	})
	fs.StringVar(&f.what.Nginx, "nginx", "", "-probe: also watch the nginx with this stub_status `URL`")
	fs.StringVar(&f.what.Pprof, "pprof", "", "-probe: also watch the Go server with profiles at this `URL`, which ends in /debug/pprof")
}

func (f *probeFlags) addPID(s string) error {
	role, from, ok := strings.Cut(s, "=")
	if !ok || role == "" || from == "" {
		return fmt.Errorf("want ROLE=FILE or ROLE=NUMBER")
	}
	for i := range f.what.Processes {
		if p := &f.what.Processes[i]; p.Role == role {
			p.From = append(p.From, from)
			return nil
		}
	}
	f.what.Processes = append(f.what.Processes, agent.Processes{Role: role, From: []string{from}})
	return nil
}

// keyPair is [tls.LoadX509KeyPair] of regular files.
func keyPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := files.Read(certFile, rig.MaxSmall)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := files.Read(keyFile, rig.MaxSecret)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// serveProbes serves this host's probes until ctx ends. Its one line on stdout has the address and the certificate.
func (a *app) serveProbes(ctx context.Context, f probeFlags) error {
	switch {
	case f.listen == "":
		return plan.Usagef("-probe: -listen is missing; write an address such as 10.0.0.4:9443, or 127.0.0.1:0 for any port of this host alone")
	case f.tokenFile == "":
		return plan.Usagef("-probe: -token-file is missing; make one: umask 077; openssl rand -hex 32 > FILE")
	case f.what.Role == "":
		return plan.Usagef("-probe: -role is missing; give the role of this host, such as -role proxy")
	case (f.cert == "") != (f.key == ""):
		return plan.Usagef("-probe: -cert and -key come together")
	}
	if _, err := rig.CheckListen(f.listen); err != nil {
		return plan.Usagef("-listen: %w", err)
	}
	if f.cpus != "" {
		cpus, err := rig.Cores(f.cpus)
		if err != nil {
			return plan.Usagef("-cpus: %w", err)
		}
		f.what.CPUs = cpus
	}
	token, err := agent.ReadToken(f.tokenFile)
	if err != nil {
		return plan.UsageError{Err: err}
	}
	a.secrets.Add(token)
	var cert tls.Certificate
	if f.cert == "" {
		cert, err = agent.SelfMade()
	} else if cert, err = keyPair(f.cert, f.key); err != nil {
		err = plan.Usagef("-cert, -key: %w; to make them: openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj /CN=plimsoll -addext subjectAltName=DNS:HOST -keyout KEY -out CERT", err)
	}
	if err != nil {
		return err
	}
	f.what.Panicked = a.panicked
	srv, err := agent.New(agent.Config{What: f.what, Token: token, Certificate: cert, Version: own.Version()})
	if err != nil {
		return plan.UsageError{Err: err}
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("-listen %s: %w; choose another port, or 0 for any", f.listen, err)
	}
	if _, err := plain.Fprintf(a.stdout, "plimsoll agent: ready url=https://%s role=%s fingerprint=%s\n", l.Addr(), f.what.Role, srv.Fingerprint()); err != nil {
		_ = l.Close()
		return err
	}
	return srv.Serve(ctx, l)
}

// agent is the verb: this program as an agent of a run that another process leads, or as the probes of this host.
func (a *app) agent(ctx context.Context, fs *flag.FlagSet, args []string) error {
	stdio := fs.Bool("stdio", false, "take requests from stdin and reply on stdout; \"run\" and its like start agents so when one process cannot hold all users")
	probes := fs.Bool("probe", false, "serve the probes of this host over HTTPS, for a plan's probes of kind agent (docs/probes.md)")
	joins := fs.String("join", "", "have users of runs that a coordinator at this `URL` leads: nats://HOST:PORT, or tls://HOST:PORT of a cluster (docs/agents.md)")
	labels, root := labelFlag(fs), a.storeFlag(fs)
	rate := fs.Bool("calibrate", false, "-join: rate this host for 20 s first when the store has no rating of it, for placement.share: rating")
	var pf probeFlags
	pf.register(fs)
	if _, err := parse(fs, args, 0, 0); err != nil {
		return err
	}
	switch {
	case *probes && (*stdio || *joins != ""), *stdio && *joins != "":
		return plan.Usagef("-stdio and -join have users, and -probe has probes: choose one")
	case *joins != "":
		return a.program().Attend(ctx, rig.Attendance{URL: *joins, TokenFile: pf.tokenFile, Labels: labels, Store: *root, Calibrate: *rate})
	case *probes:
		return a.serveProbes(ctx, pf)
	case !*stdio:
		return plan.Usagef("what is this agent for? -join: users of runs on another host; -stdio: users of a run on this host; -probe: this host's numbers for a run on another")
	}
	out, _ := a.raw() // of messages, whose errors are gated where they are made
	return fleet.Serve(ctx, a.stdin, out, a.program().BuildAgent)
}
