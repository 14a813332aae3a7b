package preflight

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"plimsoll/dialect"
	"plimsoll/plan"
	"plimsoll/run/deploy"
	"plimsoll/run/health/sources"
	"plimsoll/target"
)

// Times of the steps of a preflight.
const (
	pageTime  = 4 * time.Second        // of a page of metrics
	riseTime  = 2 * time.Second        // for a target that is just starting
	riseEvery = 200 * time.Millisecond // between two tries
)

// addressChecks check the servers that the plan names: the targets that others run, their
// pages of metrics, and the plan's other sources.
func (f *Inspection) addressChecks() (out []Check) {
	if f.Plan.Target.OwnHost() || len(f.Plan.Target.Install) > 0 { // the servers are started later
		return f.metricsChecks()
	}
	for _, a := range f.arms {
		for i, at := range a.target.URL {
			if !slices.ContainsFunc(f.arms, func(b armTarget) bool {
				return b.name < a.name && slices.Contains(b.target.URL, at)
			}) {
				out = append(out, Check{Name: "the server at " + target.Shown(at),
					Do: func(ctx context.Context, log *Log) { f.server(ctx, log, a, at, i == 0) }})
			}
		}
		for i, page := range pagesOf(a.target) {
			out = append(out, Check{Name: "the metrics at " + target.Shown(page), Within: pageTime,
				Do: func(ctx context.Context, log *Log) {
					key := a.at("metrics_url", len(a.own.MetricsURL) > 0)
					if err := target.Ready(ctx, page); err != nil {
						log.Problem(
							key,
							"the page of metrics of server %d cannot be read: %v; switch metrics on there, "+
								"write another address, or remove it",
							i+1,
							err,
						)
					}
				}})
		}
	}
	return append(out, f.metricsChecks()...)
}

// pagesOf returns the pages of metrics of a target that others run.
func pagesOf(t plan.Target) (out []string) {
	if len(t.MetricsURL) == 1 && !strings.Contains(t.MetricsURL.First(), "://") {
		for _, at := range t.URL {
			out = append(out, target.Join(at, t.MetricsURL.First()))
		}
		return out
	}
	for i, page := range t.MetricsURL {
		out = append(out, target.Join(t.URL[min(i, len(t.URL)-1)], page))
	}
	return out
}

// metricsChecks check the plan's Prometheus server, and the probes of a target that
// others run.
func (f *Inspection) metricsChecks() (out []Check) {
	o := &sources.Opener{Resolver: &f.Resolver, Plan: f.Plan}
	for _, a := range f.arms {
		m := f.Plan.MetricsOf(a.name)
		if len(m.Labels) == 0 {
			continue
		}
		watched, err := o.Prometheus(m, len(a.target.MetricsURL) > 0)
		out = append(out, Check{Name: "the Prometheus server of the plan", Within: pageTime,
			Do: func(ctx context.Context, log *Log) {
				defer sources.Close(watched)
				problem(log, "metrics.prometheus", err)
				for _, src := range watched {
					if err := src.Try(ctx); err != nil {
						log.Problem("metrics.prometheus", "%s: %v", src.Name, err)
						return
					}
				}
			}})
	}
	if f.Plan.Target.OwnHost() || len(f.Plan.Target.Install) > 0 {
		return out
	}
	for i, p := range f.Plan.Probes {
		if p.OfAgent() || p.OfProcess() {
			continue
		}
		key := fmt.Sprintf("probes[%d]", i)
		out = append(out, Check{Name: key + " of the plan", Within: pageTime,
			Do: func(ctx context.Context, log *Log) { problem(log, key, f.tryProbe(ctx, p)) }})
	}
	return out
}

// tryProbe reads a probe of the plan once. One whose references lead nowhere was reported.
func (f *Inspection) tryProbe(ctx context.Context, p plan.Probe) error {
	at, err := plan.Expand(p.URL+p.DSN, f.Lookup)
	if err != nil {
		return nil
	}
	src, err := sources.Open(p.Kind, at, p.Role, p.Role)
	if err != nil {
		return err
	}
	defer sources.Close([]sources.Opened{src})
	return src.Try(ctx)
}

// server looks at a server of an arm: its name, its port, its certificate, its answer, and with
// whole all that users do there first.
func (f *Inspection) server(ctx context.Context, log *Log, a armTarget, at string, whole bool) {
	u, err := url.Parse(at)
	// a reference that leads nowhere was reported
	if err != nil || u.Host == "" || strings.Contains(at, "${") {
		return
	}
	key, ready := a.urlKey(), deploy.ReadyPage(f.Dialects, f.Plan, a.target)
	log.Doing("the answer of " + target.Shown(at))
	err = f.answer(ctx, target.Join(at, ready))
	switch {
	case err == nil && whole:
		f.version(ctx, log, a, at)
		f.visit(ctx, log, at)
	case err == nil:
	case f.Plan.Target.Timeouts.Ready > 0 && notYet(err):
		log.Caution(key, "%s: %v; it is waited for (target.timeouts.ready)", target.Shown(at), err)
	default:
		e, answered := errors.AsType[*target.AnswerError](err)
		if !answered {
			log.Problem(key, "%s: %s", target.Shown(at), connectText(err, u, f.Plan.Target.CA))
			return
		}
		if a.target.Ready != "" {
			key = "target.ready"
		}
		log.Problem(key, "%v; %s", err, answerRemedy(e, u, a.target.Ready))
	}
}

// answer requests the page that shows that a server is ready. One that is not up yet is asked again
// for a moment, and one that is slow until the time is over: it may be a good one.
func (f *Inspection) answer(ctx context.Context, page string) error {
	for until := time.Now().Add(riseTime); ; {
		err := target.Ready(ctx, page)
		again := notYet(err) && time.Now().Before(until) && f.Plan.Target.Timeouts.Ready == 0
		if !again && !errors.Is(err, target.ErrSilent) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(riseEvery):
		}
	}
}

// notYet reports whether a server that may be about to start gives an error.
func notYet(err error) bool {
	e, ok := errors.AsType[*target.AnswerError](err)
	return ok && e.Unavailable() || errors.Is(err, syscall.ECONNREFUSED)
}

// connectText explains an error of a connection, with its remedy.
func connectText(err error, u *url.URL, ca string) string {
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Sprintf(
			"the name %s has no address: %v; write another, or let DNS or /etc/hosts know it",
			u.Hostname(),
			e,
		)
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf(
			"the certificate is not one of %s: %v; write a name that it has, or renew it with this one",
			u.Hostname(),
			e,
		)
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return fmt.Sprintf(
			"the certificate is not valid at present: %v; renew it, or set this host's clock (%s)",
			e,
			time.Now().Format(time.DateTime),
		)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		if ca != "" {
			return fmt.Sprintf(
				"another authority than that of target.ca (%s) signed the certificate; name the file of that one",
				ca,
			)
		}
		return "a private authority signed the certificate; name the file with the authority's certificate, in PEM: target: {ca: FILE}"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the port speaks no TLS; write the address with http://"
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return fmt.Sprintf(
			"no answer to a connection (%v); a firewall is in the way, or it is another address",
			err,
		)
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Sprintf(
			"nothing listens there (%v); start the server, write another address, or let the run wait for it: target: {timeouts: {ready: 2m}}",
			err,
		)
	}
	return err.Error() + "; it may be another server, or one that speaks TLS (https://)"
}

// answerRemedy returns the remedy of an answer that shows a server not to be ready.
func answerRemedy(e *target.AnswerError, u *url.URL, ready string) string {
	switch {
	case e.Location != "":
		return "it sends requests to " + e.Location + ": write the address at which the server itself answers"
	case e.Unavailable():
		return "the server, or the one behind a proxy, is not up; start it, or let the run wait for it: target: {timeouts: {ready: 2m}}"
	case e.Status == http.StatusBadRequest && strings.EqualFold(u.Scheme, "http"):
		return "it may be that the port speaks TLS: write the address with https://"
	case ready != "":
		return "name a page that answers 200 without a login in target.ready, or leave it out"
	}
	return "it is another kind of server, or serves below a path that the address lacks; target.ready names another page that answers 200"
}

// version compares the version of a server with the arm's, where the plan has it verified.
func (f *Inspection) version(ctx context.Context, log *Log, a armTarget, at string) {
	d, want := f.Dialects.OfPlan(f.Plan), a.target.Version
	if a.target.Verify.Version != plan.FromAPI || want == "" || d == nil || d.Release == nil {
		return
	}
	log.Doing("the version of the server at " + target.Shown(at))
	names, err := d.Release(ctx, f.envOf(at))
	if err == nil {
		_, err = deploy.ReleaseOf(want, names, target.Shown(at))
	}
	if err != nil {
		log.Problem(a.at("version", a.own.Version != ""), "%v", err)
	}
}

// visit lets the dialect look at a server as its users will.
func (f *Inspection) visit(ctx context.Context, log *Log, at string) {
	d := f.Dialects.OfPlan(f.Plan)
	if d == nil || d.Visit == nil {
		return
	}
	v := dialect.Visit{Env: f.envOf(strings.TrimRight(at, "/")), Users: map[string]int{}, Log: log}
	for name, share := range f.Plan.Workload.Mix() {
		v.Users[name] = int(math.Ceil(share * float64(f.users)))
	}
	if v.Env.Accounts != nil && len(v.Env.Accounts.Rows) > 1 {
		few := *v.Env.Accounts
		few.Rows = few.Rows[:1]
		v.Env.Accounts = &few
	}
	d.Visit(ctx, v)
}
