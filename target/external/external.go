// Package external is the driver for a target that others run: a URL and, optionally, a command that
// restores its state.
//
// The driver starts and stops nothing. Without a reset command, Reset returns [target.ErrNoReset]: runs
// against such a target share its state, which a comparison must take into account. It has no
// processes, so gates on the target's CPU need a probe on its host.
package external

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"plimsoll/plan"
	"plimsoll/target"
	"plimsoll/target/lab"
)

// Defaults of a Driver.
const (
	DefaultReadyTimeout = 30 * time.Second
	DefaultResetTimeout = 10 * time.Minute
)

// A Driver deploys nothing. The zero value works. It implements [target.Driver].
type Driver struct {
	ReadyTimeout time.Duration // how long the target may take to answer; 0 means DefaultReadyTimeout
	ResetTimeout time.Duration // how long the reset command may take; 0 means DefaultResetTimeout
}

// A deployment implements target.Deployment; it never changes.
type deployment struct {
	driver Driver
	spec   target.Spec
}

// Deploy implements [target.Driver]. It needs Spec.URL, requests Spec.Ready (default: the URL itself)
// to check that the target is there, and refuses fields that would have no effect.
func (d *Driver) Deploy(ctx context.Context, spec target.Spec) (target.Deployment, error) {
	spec.Driver = plan.External
	dep := &deployment{*d, spec}
	if dep.driver.ReadyTimeout <= 0 {
		dep.driver.ReadyTimeout = DefaultReadyTimeout
	}
	if dep.driver.ResetTimeout <= 0 {
		dep.driver.ResetTimeout = DefaultResetTimeout
	}
	if err := check(spec); err != nil {
		return nil, fmt.Errorf("external target %s: %w", spec.Name, err)
	}
	if err := dep.waitReady(ctx); err != nil {
		return nil, fmt.Errorf("external target %s: %w", spec.Name, err)
	}
	return dep, nil
}

func check(spec target.Spec) error {
	u, err := url.Parse(spec.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("url: want the base URL of the server, such as https://chat.example.com")
	}
	if u.User != nil {
		return errors.New("url: it holds a user or password, which reports would show; pass secrets in the environment")
	}
	switch {
	case spec.Binary != "" || len(spec.Args) > 0:
		return errors.New("a program (binary, args) has no effect here: nothing is started; use the driver process")
	case spec.Engine != "":
		return errors.New("a database engine has no effect here: nothing is started; leave it out")
	case len(spec.CPUs) > 0:
		return errors.New("CPUs have no effect here: nothing is started; leave them out")
	case spec.Instances > 1:
		return errors.New("more than one instance needs one URL per instance, which this driver does not know; use the URL of their proxy")
	}
	return nil
}

func (d *deployment) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d.driver.ReadyTimeout, fmt.Errorf("no good answer within %v", d.driver.ReadyTimeout))
	defer cancel()
	ready := target.Join(d.URL(), d.spec.Ready)
	if err := target.WaitReady(ctx, ready, nil); err != nil {
		return fmt.Errorf("waiting for %s: %w", target.Shown(ready), err)
	}
	return nil
}

// URL implements [target.Endpoint].
func (d *deployment) URL() string { return strings.TrimRight(d.spec.URL, "/") }

// URLs implements [target.Endpoint].
func (d *deployment) URLs() []string { return []string{d.URL()} }

// MetricsURLs implements [target.Endpoint].
func (d *deployment) MetricsURLs() []string {
	if d.spec.MetricsURL == "" {
		return nil
	}
	return []string{target.Join(d.URL(), d.spec.MetricsURL)}
}

// PIDs implements [target.Endpoint]: no process of this target is known.
func (d *deployment) PIDs() map[string][]int { return map[string][]int{} }

// Describe implements [target.Deployment].
func (d *deployment) Describe() target.Description {
	reset := "none"
	if len(d.spec.ResetCmd) > 0 {
		reset = strings.Join(d.spec.ResetCmd, " ")
	}
	return target.Description{
		Name: d.spec.Name, Driver: plan.External, Version: d.spec.Version, URLs: d.URLs(), Instances: 1,
		Settings: map[string]string{"reset": reset},
	}
}

// Reset implements [target.Deployment]: it runs the reset command, with Spec.Env and Spec.Secrets in its
// environment, and waits until the target is ready.
func (d *deployment) Reset(ctx context.Context) error {
	if len(d.spec.ResetCmd) == 0 {
		return fmt.Errorf("external target %s: %w; give a command that does it (reset)", d.spec.Name, target.ErrNoReset)
	}
	env := os.Environ()
	for _, set := range []map[string]string{d.spec.Env, d.spec.Secrets} {
		for _, k := range slices.Sorted(maps.Keys(set)) {
			env = append(env, k+"="+set[k])
		}
	}
	run, cancel := context.WithTimeoutCause(ctx, d.driver.ResetTimeout, fmt.Errorf("not done within %v", d.driver.ResetTimeout))
	defer cancel()
	if err := lab.Run(run, lab.Spec{
		Name: "reset command", Path: d.spec.ResetCmd[0], Args: d.spec.ResetCmd[1:], Env: env, Dir: d.spec.WorkDir,
	}); err != nil {
		return fmt.Errorf("resetting external target %s: %w", d.spec.Name, d.hide(err))
	}
	return d.waitReady(ctx)
}

// hide takes the values of secrets out of an error that quotes a command's output.
func (d *deployment) hide(err error) error {
	msg := err.Error()
	for _, v := range d.spec.Secrets {
		if v != "" {
			msg = strings.ReplaceAll(msg, v, target.Hidden)
		}
	}
	if msg == err.Error() {
		return err
	}
	return errors.New(msg)
}

// Stop implements [target.Deployment]: it leaves the target as it is.
func (d *deployment) Stop(context.Context) error { return nil }
