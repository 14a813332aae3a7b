package rig

import (
	"cmp"
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
	"plimsoll/run/preflight"
	"plimsoll/target"
)

// Times of the steps of a preflight.
const (
	dialTime    = 3 * time.Second // of a connection, so that a lost first packet is sent again
	requestTime = 2 * time.Second
	riseTime    = 2 * time.Second        // for a target that is just starting
	riseEvery   = 200 * time.Millisecond // between two tries of a connection
)

// addressChecks are those of the servers that the plan names: the targets that others run, their pages of
// metrics, and the plan's other sources.
func (f *flight) addressChecks() (out []preflight.Check) {
	if f.p.Target.OwnHost() || len(f.p.Target.Install) > 0 { // the servers are started later
		return f.metricsChecks()
	}
	for _, a := range f.arms {
		for i, at := range a.target.URL {
			if !slices.ContainsFunc(f.arms, func(b flightArm) bool { return b.name < a.name && slices.Contains(b.target.URL, at) }) {
				out = append(out, preflight.Check{Name: "the server at " + target.Shown(at),
					Do: func(ctx context.Context, log *preflight.Log) { f.server(ctx, log, a, at, i == 0) }})
			}
		}
		for i, page := range pagesOf(a.target) {
			out = append(out, preflight.Check{Name: "the metrics at " + target.Shown(page), Within: dialTime + requestTime,
				Do: func(ctx context.Context, log *preflight.Log) {
					key := a.at("metrics_url", len(a.own.MetricsURL) > 0)
					if err := target.Ready(ctx, page); err != nil {
						log.Problem(key, "the page of metrics of server %d cannot be read: %v; switch metrics on there, "+
							"write another address, or remove it", i+1, err)
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

// metricsChecks are those of the plan's Prometheus server, and of the probes of a target that others run.
func (f *flight) metricsChecks() (out []preflight.Check) {
	s := &Session{Program: f.Program, Plan: f.p}
	for _, a := range f.arms {
		m := f.p.MetricsOf(a.name)
		if len(m.Labels) == 0 {
			continue
		}
		sources, err := s.watchedBy(m, len(a.target.MetricsURL) > 0)
		out = append(out, preflight.Check{Name: "the Prometheus server of the plan", Within: dialTime + requestTime,
			Do: func(ctx context.Context, log *preflight.Log) {
				defer closeSources(sources)
				problem(log, "metrics.prometheus", err)
				for _, src := range sources {
					if err := src.try(ctx); err != nil {
						log.Problem("metrics.prometheus", "%s: %v", src.probe.Name(), err)
						return
					}
				}
			}})
	}
	if f.p.Target.OwnHost() || len(f.p.Target.Install) > 0 {
		return out
	}
	for i, p := range f.p.Probes {
		if p.OfAgent() || p.OfProcess() {
			continue
		}
		key := fmt.Sprintf("probes[%d]", i)
		out = append(out, preflight.Check{Name: key + " of the plan", Within: dialTime + requestTime,
			Do: func(ctx context.Context, log *preflight.Log) { problem(log, key, f.tryProbe(ctx, p)) }})
	}
	return out
}

// tryProbe reads a probe of the plan once. One whose references lead nowhere was reported.
func (f *flight) tryProbe(ctx context.Context, p plan.Probe) error {
	at, err := plan.Expand(p.URL+p.DSN, f.Lookup)
	if err != nil {
		return nil
	}
	src, err := openProbe(p.Kind, at, p.Role, p.Role)
	if err != nil {
		return err
	}
	defer closeSources([]source{src})
	return src.try(ctx)
}

// server looks at a server of an arm: its name, its port, its certificate, its answer, and with whole all
// that users do there first.
func (f *flight) server(ctx context.Context, log *preflight.Log, a flightArm, at string, whole bool) {
	key, shown := a.urlKey(), target.Shown(at)
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || strings.Contains(at, "${") { // a reference that leads nowhere was reported
		return
	}
	log.Doing("the address of " + u.Hostname())
	if _, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname()); err != nil {
		if dns, ok := errors.AsType[*net.DNSError](err); !ok || !dns.IsTimeout {
			log.Problem(key, "the name %s has no address: %v; write another, or let DNS or /etc/hosts know it", u.Hostname(), err)
		} else {
			<-ctx.Done() // the resolver is silent: whether the name is a good one is not known
		}
		return
	}
	log.Doing("the connection to " + shown)
	if err := f.connect(ctx, u); err != nil {
		if f.p.Target.Timeouts.Ready > 0 && notYet(err) {
			log.Caution(key, "%s: %v; it is waited for (target.timeouts.ready)", shown, err)
		} else {
			log.Problem(key, "%s: %s", shown, connectText(err, u, f.p.Target.CA))
		}
		return
	}
	log.Doing("the answer of " + shown)
	err = f.answer(ctx, a, at)
	for errors.Is(err, target.ErrSilent) && ctx.Err() == nil { // a slow one may be a good one
		err = f.answer(ctx, a, at)
	}
	if err != nil {
		ready := a.target.Ready
		if e, ok := errors.AsType[*target.AnswerError](err); ok && e.Unavailable() && f.p.Target.Timeouts.Ready > 0 {
			log.Caution(key, "%v; it is waited for (target.timeouts.ready)", err)
			return
		}
		log.Problem(cmp.Or(map[bool]string{true: "target.ready"}[ready != ""], key), "%v; %s", err, readyRemedy(err, u, ready))
		return
	}
	if whole {
		f.version(ctx, log, a, at)
		f.visit(ctx, log, a, at)
	}
}

// connect opens a connection, with TLS where the address has it. A port at which nothing listens is tried
// again for a moment.
func (f *flight) connect(ctx context.Context, u *url.URL) error {
	addr := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]))
	dialer := &net.Dialer{Timeout: dialTime}
	for until := time.Now().Add(riseTime); ; {
		conn, err := dialer.DialContext(ctx, "tcp", addr)
		if err == nil {
			defer conn.Close()
			if !strings.EqualFold(u.Scheme, "https") {
				return nil
			}
			conf := &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
			if f.p.Target.HTTP == plan.HTTP2 {
				conf.NextProtos = []string{plan.HTTP2}
			}
			with := tls.Client(conn, conf)
			if err := with.HandshakeContext(ctx); err != nil {
				return err
			}
			if f.p.Target.HTTP == plan.HTTP2 && with.ConnectionState().NegotiatedProtocol != plan.HTTP2 {
				return errors.New("the server chose no HTTP/2 by ALPN; remove target.http, or switch h2 on there")
			}
			return nil
		}
		if !notYet(err) || time.Now().After(until) || f.p.Target.Timeouts.Ready > 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(riseEvery):
		}
	}
}

// notYet reports whether an error is that of a server that may be about to start.
func notYet(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// connectText explains an error of a connection, with its remedy.
func connectText(err error, u *url.URL, ca string) string {
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("the certificate is not one of %s: %v; write a name that it has, or renew it with this one", u.Hostname(), e)
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return fmt.Sprintf("the certificate is not valid at present: %v; renew it, or set this host's clock (%s)", e, time.Now().Format(time.DateTime))
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		if ca != "" {
			return fmt.Sprintf("another authority than that of target.ca (%s) signed the certificate; name the file of that one", ca)
		}
		return "a private authority signed the certificate; name the file with the authority's certificate, in PEM: target: {ca: FILE}"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the port speaks no TLS; write the address with http://"
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return fmt.Sprintf("no answer to a connection (%v); a firewall is in the way, or it is another address", err)
	}
	if notYet(err) {
		return fmt.Sprintf("nothing listens there (%v); start the server, write another address, or let the run wait for it: target: {timeouts: {ready: 2m}}", err)
	}
	return err.Error()
}

// answer requests the page that shows that a server is ready.
func (f *flight) answer(ctx context.Context, a flightArm, at string) error {
	ready := a.target.Ready
	if d := f.Dialects.OfPlan(f.p); ready == "" && d != nil && len(d.Drivers) > 0 {
		ready = d.Drivers[0].Ready
	}
	return target.Ready(ctx, target.Join(at, ready))
}

// readyRemedy is that of an answer by which a server is not ready.
func readyRemedy(err error, u *url.URL, ready string) string {
	e, ok := errors.AsType[*target.AnswerError](err)
	switch {
	case !ok && strings.EqualFold(u.Scheme, "http"):
		return "it may be that the port speaks TLS (https://), or no HTTP"
	case !ok:
		return "it may be another server than that of the plan"
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

// version compares the version of a server with that of the arm, where the plan has it verified.
func (f *flight) version(ctx context.Context, log *preflight.Log, a flightArm, at string) {
	d, want := f.Dialects.OfPlan(f.p), a.target.Version
	if a.target.Verify.Version != plan.FromAPI || want == "" || d == nil || d.Release == nil {
		return
	}
	log.Doing("the version of the server at " + target.Shown(at))
	names, err := d.Release(ctx, f.envOf(at))
	if err == nil {
		_, err = releaseOf(want, names, target.Shown(at))
	}
	if err != nil {
		log.Problem(a.at("version", a.own.Version != ""), "%v", err)
	}
}

// visit lets the dialect look at a server as its users will.
func (f *flight) visit(ctx context.Context, log *preflight.Log, a flightArm, at string) {
	d := f.Dialects.OfPlan(f.p)
	if d == nil || d.Visit == nil {
		return
	}
	v := dialect.Visit{Env: f.envOf(strings.TrimRight(at, "/")), Users: map[string]int{}, Log: log}
	for name, share := range f.p.Workload.Mix() {
		v.Users[name] = int(math.Ceil(share * float64(f.users)))
	}
	if v.Env.Accounts != nil && len(v.Env.Accounts.Rows) > 1 {
		few := *v.Env.Accounts
		few.Rows = few.Rows[:1]
		v.Env.Accounts = &few
	}
	d.Visit(ctx, v)
}
