package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/target"
	"plimsoll/target/lab"
)

// startApp starts all instances and waits until each is ready.
func (d *deployment) startApp(ctx context.Context) error {
	for try := 1; ; try++ {
		if d.instances == nil {
			if err := errors.Join(d.chooseFront(), d.choosePorts()); err != nil {
				return err
			}
		}
		err := d.startInstances(ctx)
		if err == nil {
			return nil
		}
		err = errors.Join(err, d.stopApp(context.WithoutCancel(ctx)))
		var busy *portError
		if !errors.As(err, &busy) || try == maxTries || d.desc.Driver != "" {
			return err // once it is deployed, the URLs are promised
		}
		swap(d, &d.instances, nil)
	}
}

// choosePorts gives every instance its ports: consecutive ones for the first port of each.
func (d *deployment) choosePorts() error {
	n := d.spec.Instances
	first, err := lab.FreePorts(n * portsPerInstance)
	if err != nil {
		return err
	}
	peers := make([][portsPerInstance]int, n)
	for i := range peers {
		for k := range portsPerInstance {
			peers[i][k] = first + k*n + i
		}
	}
	hosts, base := d.conf.Hosts, "http://${HOSTPORT}"
	if len(hosts) != n {
		if hosts != nil {
			return fmt.Errorf("%d addresses for %d instances", len(hosts), n)
		}
		hosts = slices.Repeat([]string{cmp.Or(d.conf.Host, loopback)}, n)
		base = "http://127.0.0.1:${PORT}"
	}
	base = cmp.Or(d.spec.URL, base)
	instances := make([]Instance, n)
	for i := range instances {
		in := Instance{
			Index:  i,
			Ports:  peers[i],
			Peers:  peers,
			Dir:    d.spec.Dir,
			Engine: d.spec.Engine,
			Hosts:  hosts,
		}
		vars, err := in.variables()
		if err != nil {
			return err
		}
		if in.URL, err = expand(base, "url", vars, nil); err != nil {
			return err
		}
		in.Users = cmp.Or(d.front.url, in.URL)
		instances[i] = in
	}
	swap(d, &d.instances, instances)
	return nil
}

// A portError is a failed start that another port may mend.
type portError struct{ error }

func (e *portError) Unwrap() error { return e.error }

// startInstances starts the instances side by side and waits until each is ready.
func (d *deployment) startInstances(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		d.conf.readyTimeout,
		fmt.Errorf("not ready within %v", d.conf.readyTimeout),
	)
	defer cancel()
	if err := d.startedStores(); err != nil {
		return err
	}
	instances := slices.Clone(d.instances)
	for i := range instances {
		in := &instances[i]
		in.DSN = d.DSN()
		in.Replicas = d.ReplicaDSNs()
		in.Companions = map[string]string{}
		for role, c := range d.companions {
			in.Companions[role] = c.Addr()
		}
	}
	swap(d, &d.instances, instances)
	if err := d.vacant(ctx); err != nil {
		return err
	}
	for i := range d.instances {
		p, err := d.startInstance(ctx, d.instances[i])
		if err != nil {
			return fmt.Errorf("instance %d: %w", i, err)
		}
		swap(d, &d.procs, append(d.procs, p))
		if err := d.started("app", p.PID()); err != nil {
			return err
		}
	}
	for i, p := range d.procs {
		url, err := d.readyURL(d.instances[i])
		if err != nil {
			return err
		}
		if err := target.WaitReady(ctx, url, p.Done()); err != nil {
			return d.readyError(i, p, err)
		}
	}
	return d.startProxy(ctx)
}

// vacant returns an error if a server answers at the ready address of an instance before any of
// them is started: that one would be provisioned and measured in the instance's place.
func (d *deployment) vacant(ctx context.Context) error {
	for i, in := range d.instances {
		url, err := d.readyURL(in)
		if err != nil {
			return err
		}
		if target.Ready(ctx, url) == nil {
			return &portError{
				fmt.Errorf(
					"instance %d: another server answers at %s before this one is started; stop that one, "+
						"or give one of the two another address",
					i,
					target.Shown(url),
				),
			}
		}
	}
	return nil
}

// readyURL is the address that shows that an instance is ready.
func (d *deployment) readyURL(in Instance) (string, error) {
	url, err := d.instanceURL(in, d.spec.Ready, "ready")
	if err == nil && url == in.URL {
		url += "/"
	}
	return url, err
}

// readyError explains why an instance did not get ready.
func (d *deployment) readyError(i int, p Process, err error) error {
	tail := d.hide(p.Tail())
	out := fmt.Errorf("instance %d: %w", i, err)
	select {
	case <-p.Done():
		out = fmt.Errorf("instance %d: %w: %w", i, err, p.Err())
	default:
	}
	if tail = lab.LastLines(tail, 15); tail != "" {
		out = fmt.Errorf("%w%w", out, plain.Output(tail))
	}
	if portInUse(tail) {
		return &portError{out}
	}
	return out
}

// hide takes the secrets that we gave to the program out of the program's output.
func (d *deployment) hide(output string) string {
	var secrets []string
	for _, in := range d.instances {
		if vars, err := in.variables(); err == nil {
			secrets = append(append(secrets, vars["DSN"], vars["DB_PASSWORD"]), in.Replicas...)
		}
	}
	secrets = append(secrets, slices.Collect(maps.Values(d.spec.Secrets))...)
	for _, s := range secrets {
		if s != "" {
			output = strings.ReplaceAll(output, s, target.Hidden)
		}
	}
	return output
}

// startInstance starts one instance with its output in a file.
func (d *deployment) startInstance(ctx context.Context, in Instance) (Process, error) {
	vars, err := in.variables()
	if err != nil {
		return nil, err
	}
	cmd, err := d.conf.Command(d.spec, in)
	if err != nil {
		return nil, err
	}
	args := make([]string, len(cmd.Args))
	for i, a := range cmd.Args {
		if args[i], err = expand(a, fmt.Sprintf("argument %d", i+1), vars, plan.FilledSecrets); err != nil {
			return nil, err
		}
	}
	// Its next start removes the files that it leaves there when it is killed.
	tmp := filepath.Join(d.spec.Dir, fmt.Sprintf("tmp-%d", in.Index))
	if err := errors.Join(os.RemoveAll(tmp), os.MkdirAll(tmp, 0o700)); err != nil {
		return nil, fmt.Errorf("making a directory for the program's temporary files: %w", err)
	}
	env := append(environment(), "TMPDIR="+tmp)
	for _, set := range []map[string]string{cmd.Env, d.spec.Env} {
		for _, k := range slices.Sorted(maps.Keys(set)) {
			v, err := expand(set[k], "variable "+k, vars, nil)
			if err != nil {
				return nil, err
			}
			env = append(env, k+"="+v)
		}
	}
	for k, v := range d.spec.Secrets {
		env = append(env, k+"="+v)
	}
	stop, err := lab.ParseSignal(d.spec.StopSignal)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(d.logFile(in.Index), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the program's log: %w", err)
	}
	defer log.Close() // the child has its own
	dir := d.spec.WorkDir
	if dir == "" {
		dir = d.spec.Dir
	}
	path, err := exec.LookPath(cmd.Path)
	if err != nil {
		return nil, fmt.Errorf("looking for the program: %w", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("looking for the program: %w", err)
	}
	return d.conf.start(ctx, in, lab.Spec{
		Name:        filepath.Base(path),
		Path:        path,
		Args:        args,
		Env:         env,
		Dir:         dir,
		Stdout:      log,
		Stderr:      log,
		CPUs:        d.spec.CPUs,
		StopSignal:  stop,
		StopTimeout: stopTimeout,
		Journal:     d.journal(),
	})
}

func (d *deployment) instanceURL(in Instance, ref, where string) (string, error) {
	vars, err := in.variables()
	if err != nil {
		return "", err
	}
	if ref, err = expand(ref, where, vars, plan.FilledSecrets); err != nil {
		return "", err
	}
	return target.Join(in.URL, ref), nil
}

// stopApp stops the proxy, and all instances side by side.
func (d *deployment) stopApp(ctx context.Context) error {
	early := d.stopProxy(ctx)
	procs := swap(d, &d.procs, nil)
	return errors.Join(early, sideBySide(len(procs), func(i int) error {
		return procs[i].Stop(ctx)
	}))
}

// sideBySide calls f with 0 to n-1, all at once: together they must not take longer than the
// slowest.
func sideBySide(n int, f func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
