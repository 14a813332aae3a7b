// Package external is the driver for a target that others run: its addresses and, optionally,
// commands that install a version on it and restore its state.
//
// The driver starts and stops nothing by itself. Without a reset command, Reset returns
// [target.ErrNoReset]: runs against such a target share its state, which a comparison must take
// into account. It knows no processes: the caller finds those on this host, and others need a probe
// there.
package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/target"
)

// Defaults of a Driver.
const (
	DefaultReadyTimeout   = 30 * time.Second
	DefaultInstallTimeout = 20 * time.Minute
	DefaultResetTimeout   = 30 * time.Minute
)

// A Driver deploys nothing. The zero value works. It implements [target.Driver].
type Driver struct {
	// how long the target may take to answer; 0 means DefaultReadyTimeout
	ReadyTimeout time.Duration
	// how long the install command may take; 0 means DefaultInstallTimeout
	InstallTimeout time.Duration
	ResetTimeout   time.Duration // how long the reset command may take; 0 means DefaultResetTimeout
	// Secrets are removed from what the commands write; those of Spec.Secrets are added. nil means
	// these alone.
	Secrets *plain.Secrets
}

// A Site is a target that others run. It implements [target.Deployment].
type Site struct {
	driver Driver
	spec   target.Spec

	mu    sync.Mutex
	facts map[string]string // for the Description
	found string            // the version that the server reported; empty if it was not asked
	count map[string]int64  // the objects that the server had; nil if they were not counted
}

// Deploy implements [target.Driver]. It needs Spec.URL, and refuses fields that would have no
// effect. Without an install command it requests Spec.Ready (default: the URL itself) to check that
// the target is there; with one the caller installs first, see [Site.Install].
func (d *Driver) Deploy(ctx context.Context, spec target.Spec) (target.Deployment, error) {
	spec.Driver = plan.External
	dep := &Site{driver: *d, spec: spec, facts: map[string]string{}}
	for of, v := range map[*time.Duration]time.Duration{
		&dep.driver.ReadyTimeout:   DefaultReadyTimeout,
		&dep.driver.InstallTimeout: DefaultInstallTimeout,
		&dep.driver.ResetTimeout:   DefaultResetTimeout,
	} {
		if *of <= 0 {
			*of = v
		}
	}
	if dep.driver.Secrets == nil {
		dep.driver.Secrets = new(plain.Secrets)
	}
	for _, v := range spec.Secrets {
		dep.driver.Secrets.Add(v)
	}
	if err := check(spec); err != nil {
		return nil, fmt.Errorf("external target %s: %w", spec.Name, err)
	}
	if dep.Installs() {
		return dep, nil
	}
	if err := dep.waitReady(ctx); err != nil {
		return nil, fmt.Errorf("external target %s: %w", spec.Name, err)
	}
	return dep, nil
}

func check(spec target.Spec) error {
	for _, at := range addresses(spec) {
		u, err := url.Parse(at)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return errors.New(
				"url: want the base URL of the server, such as https://chat.example.com",
			)
		}
		if u.User != nil {
			return errors.New(
				"url: it holds a user or password, which reports would show; pass secrets in the environment",
			)
		}
	}
	switch {
	case spec.Binary != "" || len(spec.Args) > 0:
		return errors.New(
			"a program (binary, args) has no effect here: nothing is started; use the driver process",
		)
	case spec.Engine != "" && len(spec.InstallCmd) == 0:
		return errors.New("a database engine has no effect here: nothing is started; leave it out")
	case len(spec.CPUs) > 0:
		return errors.New("CPUs have no effect here: nothing is started; leave them out")
	case spec.Instances > 1:
		return errors.New(
			"instances have no effect here: nothing is started; give the URL of each, or that of their proxy",
		)
	}
	return nil
}

func (d *Site) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		d.driver.ReadyTimeout,
		fmt.Errorf("no good answer within %v", d.driver.ReadyTimeout),
	)
	defer cancel()
	for _, at := range d.URLs() {
		ready := target.Join(at, d.spec.Ready)
		if err := target.WaitReady(ctx, ready, nil); err != nil {
			return fmt.Errorf("waiting for %s: %w", target.Shown(ready), err)
		}
	}
	return nil
}

// addresses returns the addresses of all servers, at least one.
func addresses(spec target.Spec) []string {
	if len(spec.URLs) > 0 {
		return spec.URLs
	}
	return []string{spec.URL}
}

// URL implements [target.Endpoint].
func (d *Site) URL() string { return d.URLs()[0] }

// URLs implements [target.Endpoint].
func (d *Site) URLs() []string {
	urls := slices.Clone(addresses(d.spec))
	for i, u := range urls {
		urls[i] = strings.TrimRight(u, "/")
	}
	return urls
}

// MetricsURLs implements [target.Endpoint].
func (d *Site) MetricsURLs() []string {
	pages, urls := d.spec.MetricsURLs, d.URLs()
	if len(pages) == 0 && d.spec.MetricsURL != "" {
		pages = []string{d.spec.MetricsURL}
	}
	switch {
	case len(pages) == 0:
		return nil
	case len(pages) == 1: // a path that all servers have, or the whole address of the only one
		for i, u := range urls {
			urls[i] = target.Join(u, pages[0])
		}
		return urls
	}
	out := make([]string, len(pages))
	for i, page := range pages {
		out[i] = target.Join(urls[min(i, len(urls)-1)], page)
	}
	return out
}

// PIDs implements [target.Endpoint]: no process of this target is known.
func (d *Site) PIDs() map[string][]int { return map[string][]int{} }

// Describe implements [target.Deployment].
func (d *Site) Describe() target.Description {
	d.mu.Lock()
	defer d.mu.Unlock()
	settings := map[string]string{"reset": commandText(d.spec.ResetCmd)}
	if d.Installs() {
		settings["install"] = commandText(d.spec.InstallCmd)
	}
	maps.Copy(settings, d.facts)
	return target.Description{
		Name:      d.spec.Name,
		Driver:    plan.External,
		Version:   cmp.Or(d.found, d.spec.Version),
		Engine:    d.spec.Engine,
		URLs:      d.URLs(),
		Instances: len(d.URLs()),
		Settings:  settings,
		Objects:   d.count,
	}
}

// commandText is a command in a description: without the directory of its program, which is of one
// host.
func commandText(argv []string) string {
	if len(argv) == 0 {
		return "none"
	}
	return strings.Join(append([]string{filepath.Base(argv[0])}, argv[1:]...), " ")
}

// Note adds a fact about the target to its description; an empty value removes it.
func (d *Site) Note(name, value string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.facts[name] = value; value == "" {
		delete(d.facts, name)
	}
}

// Count sets the objects that the server had, by their names, in the description; nil removes them.
// The map must not be changed afterwards.
func (d *Site) Count(objects map[string]int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count = objects
}

// Found sets the version that the server reported, which takes the place of the plan's in the
// description.
func (d *Site) Found(version string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.found = version
}

// Stop implements [target.Deployment]: it leaves the target as it is.
func (d *Site) Stop(context.Context) error { return nil }
