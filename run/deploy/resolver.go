package deploy

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"plimsoll/dialect"
	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/deploy/stores"
	"plimsoll/target/process"
)

// MaxSecret bounds a file with a password, a token, an address or a key, in bytes.
const MaxSecret = 64 << 10

// A Resolver resolves the names in plans: of environment variables and files, dialects and drivers.
// Values that may not be shown are added to its secrets as they are read. Its methods are safe for
// concurrent use.
type Resolver struct {
	Env      func(string) string
	Secrets  *plain.Secrets
	Dialects dialect.Set
	Drivers  map[string]OwnDriver // of the servers of the dialects, by name
}

// An OwnDriver deploys a server of a dialect: a release of it, or this program itself, by the verb
// with the name of the driver. [dialect.ServerDriver] describes it for plans and reports.
type OwnDriver struct {
	// Configure sets how the server is started in a profile, and the programs that are started
	// beside it at a side.
	Configure func(conf *process.Config, profile string, at stores.Side)
	// CheckFault reports a problem with the value of an argument -fault; nil if the server has
	// none.
	CheckFault func(fault string) error
	// Data is the schema of the databases that this program can fill for the server; empty if it
	// can fill none.
	Data string
	// UserPassword is the password of the users in data that this program made.
	UserPassword string
}

// Lookup resolves a reference of a plan: ENV to an environment variable, else to a file.
func (e *Resolver) Lookup(kind, name string) (string, error) {
	if kind == "ENV" {
		if v := e.Env(name); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("the environment variable %s is not set", name)
	}
	b, err := files.ReadText(name, MaxSecret)
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// Secret returns an environment variable that holds a secret.
func (e *Resolver) Secret(name string) string {
	v := e.Env(name)
	e.Secrets.Add(v)
	return v
}

// Hide makes addresses with a password in them, and the passwords, secrets.
func (e *Resolver) Hide(addresses ...string) {
	for _, at := range addresses {
		if password := plan.PasswordIn(at); password != "" {
			e.Secrets.Add(at, password)
			if raw, err := url.PathUnescape(password); err == nil {
				e.Secrets.Add(raw)
			}
		}
	}
}

// Resolve replaces references in the addresses of a target. A reference there or in the settings
// of behaviors that leads nowhere is a [plan.UsageError].
func (e *Resolver) Resolve(t plan.Target, w plan.Workload) (_ plan.Target, err error) {
	t = e.ResolveAll(t, w, func(key string, why error) {
		err = cmp.Or(err, plan.Usagef("%s: %w", key, why))
	})
	return t, err
}

// ResolveAll is [Resolver.Resolve] that reports each reference that leads nowhere, with its key.
// One in an address stays there.
func (e *Resolver) ResolveAll(t plan.Target, w plan.Workload,
	report func(key string, err error)) plan.Target {
	ready := []string{t.Ready}
	t.URL, t.MetricsURL = slices.Clone(t.URL), slices.Clone(t.MetricsURL)
	for key, list := range map[string][]string{
		"url": t.URL, "ready": ready, "metrics_url": t.MetricsURL,
	} {
		for i, at := range list {
			full, err := plan.Expand(at, e.Lookup)
			if err != nil {
				report("target."+key, err)
				continue
			}
			list[i] = full
			e.Hide(full)
		}
	}
	t.Ready = ready[0]
	for k, v := range w.Params {
		// A secret that is not in the plan's place may be in the environment.
		_, err := plan.Expand(v, e.Lookup)
		asked := e.Dialects.IsSetting(k) || w.Scripted() && !e.Dialects.Knows(k)
		if err != nil && (asked || files.Unreadable(err)) {
			report("workload.params."+k, err)
		}
	}
	return t
}

// Variable returns the environment variable of a secret.
func Variable(secret string) string { return "PLIMSOLL_" + strings.ToUpper(secret) }

// SecretsOf returns the source of the behaviors' secrets: the plan's own references under their
// names, then the environment as PLIMSOLL_NAME. The administrator of a server that we start gets a
// new password from each call, unless the environment has one for people who want to log in.
func (e *Resolver) SecretsOf(p *plan.Plan) func(name string) string {
	own := ""
	// A server whose database we make begins without accounts, unless the users have theirs
	// already.
	ownDatabase := p.Target.Driver != plan.Process ||
		len(p.Database.Engine) > 0 && p.Workload.UsersFile == ""
	if p.Target.OwnHost() && ownDatabase {
		var b [12]byte
		_, _ = rand.Read(b[:]) // never fails
		own = "Aa1!" + hex.EncodeToString(b[:])
	}
	value := func(name string) string {
		if v, ok := p.Workload.Params[name]; ok {
			if full, err := plan.Expand(v, e.Lookup); err == nil && full != v {
				return full
			}
		}
		if v := e.Env(Variable(name)); v != "" {
			return v
		}
		switch {
		case name == "admin_password":
			return own
		case name == "user_password" && p.Target.Filled():
			return e.Drivers[p.Target.Driver].UserPassword // the people already exist
		}
		return ""
	}
	return func(name string) string {
		v := value(name)
		if !e.Dialects.IsSetting(name) {
			e.Secrets.Add(v)
		}
		return v
	}
}

// Beforehand returns what the init code of a plan's script is given before there is a target.
func (e *Resolver) Beforehand(p *plan.Plan) workload.Env {
	secrets := e.SecretsOf(p)
	return workload.Env{URL: p.Target.URL.First(), Variables: e.Variables(p, secrets), Secret: secrets, Secrets: e.Secrets}
}

// Variables returns the settings of a plan with a script by the names that the script gives them,
// all references resolved. What a reference leads to is a secret.
func (e *Resolver) Variables(p *plan.Plan, secrets func(name string) string) map[string]string {
	if !p.Workload.Scripted() {
		return nil
	}
	out := maps.Clone(p.Workload.Params)
	for k, v := range out {
		if strings.Contains(v, "${") {
			out[k] = secrets(k)
			e.Secrets.Add(out[k])
		}
	}
	return out
}

// Params returns the settings of a plan's behaviors. References are resolved where the setting is
// no secret, and left out where it is: behaviors ask secrets for it by its name.
func (e *Resolver) Params(p *plan.Plan, secrets func(name string) string) map[string]string {
	out := maps.Clone(p.Workload.Params)
	for k, v := range p.Workload.Params {
		reference := strings.Contains(v, "${")
		if reference || p.Workload.Scripted() && !e.Dialects.Knows(k) {
			delete(out, k)
		}
		if (reference || v == "") && e.Dialects.IsSetting(k) {
			if v := secrets(k); v != "" {
				out[k] = v
			}
		}
	}
	return out
}
