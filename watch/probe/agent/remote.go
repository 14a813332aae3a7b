package agent

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"plimsoll/watch/series"
)

// Limits of an answer in bytes.
const (
	maxBody     = 16 << 20
	maxResponse = 64 << 10 // of its header, which has the reasons of failures
)

// SystemCA as RemoteConfig.CA trusts the certificate authorities of this host.
const SystemCA = "system"

// RemoteConfig configures a [Remote].
type RemoteConfig struct {
	URL   string // https://HOST:PORT
	Token string
	// Fingerprint pins the certificate, see [ParseFingerprint]; CA is a file of certificate authorities in PEM, or
	// [SystemCA]. Exactly one of them is set. A pinned certificate is trusted with any names and dates.
	Fingerprint, CA string
	// Role is the one that the agent must have; Instance distinguishes agents of one role.
	Role, Instance string
}

// Remote is the probe of another host, where a [Server] answers. Its samples are those of the page with the label
// instance added, and
//
//	plimsoll_agent_clock_offset_seconds    by how much that host's wall clock is ahead of this one's
//	plimsoll_agent_round_trip_seconds      time that was spent on the way when that was measured; the offset is wrong by half of it at most
//
//	plimsoll_agent_cpu_seconds_total       time of the cores that the agent reports, of all modes
//	plimsoll_agent_cpu_busy_seconds_total  of that, all but idle and iowait; stolen time counts as busy
//
// Of the last eight answers the one with the shortest round trip gives offset and round trip.
//
// The samples belong to the time at which Sample was called: they were read between then and its return, so they are
// off by less than it took. A probe that failed there makes Sample fail; the samples of the others are returned
// beside the error.
type Remote struct {
	conf   RemoteConfig
	url    string
	client *http.Client
	body   []byte
	parser parser
	out    []series.Sample
	probes map[string]bool // that the agent had before
	own    []series.Label

	clocks [8]clock // the last ones
	n      int
}

// A clock is one measurement of how far two clocks are apart.
type clock struct{ offset, way time.Duration }

// NewRemote makes the probe; it connects at the first sample. No error holds the token.
func NewRemote(c RemoteConfig) (*Remote, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, errors.New("url of an agent: want https://HOST:PORT and nothing behind")
	}
	if !sendable(c.Token) {
		return nil, errors.New("token of an agent: want one line of visible ASCII characters")
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS13}
	switch {
	case (c.Fingerprint == "") == (c.CA == ""):
		return nil, errors.New("an agent's certificate is verified by its fingerprint or by a ca: give one of them")
	case c.Fingerprint != "":
		want, err := ParseFingerprint(c.Fingerprint)
		if err != nil {
			return nil, err
		}
		// The library's own verification is replaced by ours, which is stricter.
		conf.InsecureSkipVerify = true
		conf.VerifyConnection = func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return &fingerprintError{"none", want}
			}
			if got := Fingerprint(s.PeerCertificates[0].Raw); subtle.ConstantTimeCompare([]byte(got), []byte(want)) != 1 {
				return &fingerprintError{got, want}
			}
			return nil
		}
	case c.CA != SystemCA:
		pem, err := readCA(c.CA)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca: %s holds no certificate in PEM", c.CA)
		}
	}
	own := []series.Label{{Name: "instance", Value: c.Instance}}
	return &Remote{
		conf: c, url: "https://" + u.Host + "/metrics", parser: parser{add: own}, probes: map[string]bool{},
		own: append(slices.Clone(own), series.Label{Name: "role", Value: c.Role}),
		client: &http.Client{
			Transport: &http.Transport{
				TLSClientConfig: conf, DisableCompression: true, MaxIdleConnsPerHost: 1, MaxConnsPerHost: 1, IdleConnTimeout: time.Minute,
				MaxResponseHeaderBytes: maxResponse,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Name returns "agent" and the instance.
func (r *Remote) Name() string { return "agent " + r.conf.Instance }

// Close drops the connection.
func (r *Remote) Close() error {
	r.client.CloseIdleConnections()
	return nil
}

// best returns the measurement of the shortest way among the last ones (RFC 5905, section 8).
func (r *Remote) best() clock {
	best := clock{way: math.MaxInt64}
	for _, c := range r.clocks[:min(r.n, len(r.clocks))] {
		if c.way < best.way {
			best = c
		}
	}
	return best
}

// Sample requests the agent's page.
func (r *Remote) Sample(ctx context.Context, _ time.Time) ([]series.Sample, error) {
	a, err := r.fetch(ctx)
	if err != nil {
		return nil, err
	}
	if r.out, err = r.parser.parse(r.body, r.out[:0]); err != nil {
		return nil, fmt.Errorf("the agent's page cannot be read: %w", err)
	}
	var received, replied, cpu, busy float64
	info := false
	var failed []string
	here := map[string]bool{}
	kept := r.out[:0]
	for _, s := range r.out {
		switch role := label(s, "role"); {
		case role == "":
			return nil, fmt.Errorf("the agent's page cannot be read: %s has no role", s.Name)
		case s.Name == metricInfo && role != r.conf.Role:
			return nil, fmt.Errorf("the agent there has the role %s, and the plan says %s; start it with -role %[2]s, or change the plan", role, r.conf.Role)
		case s.Name == metricInfo:
			info = true
		case s.Name == metricReceived:
			received = s.Value
			continue
		case s.Name == metricReplied:
			replied = s.Value
			continue
		case s.Name == "node_cpu_seconds_total" && role == r.conf.Role:
			cpu += s.Value
			if mode := label(s, "mode"); mode != "idle" && mode != "iowait" {
				busy += s.Value
			}
		case s.Name == metricUp:
			name := label(s, "probe")
			here[name] = true
			if s.Value != 1 {
				failed = append(failed, name)
			}
		}
		kept = append(kept, s)
	}
	if !info || received == 0 || replied == 0 || len(here) == 0 {
		return nil, errors.New("the answer is not the page of plimsoll agent -probe")
	}
	r.clocks[r.n%len(r.clocks)] = a.clock(received, replied)
	r.n++
	c := r.best()
	r.out = append(kept,
		series.Sample{Name: "plimsoll_agent_clock_offset_seconds", Labels: r.own, Value: c.offset.Seconds()},
		series.Sample{Name: "plimsoll_agent_round_trip_seconds", Labels: r.own, Value: c.way.Seconds()})
	if cpu > 0 {
		r.out = append(r.out, series.Sample{Name: "plimsoll_agent_cpu_seconds_total", Labels: r.own, Value: cpu},
			series.Sample{Name: "plimsoll_agent_cpu_busy_seconds_total", Labels: r.own, Value: busy})
	}
	var errs []error
	for _, name := range failed {
		why := "no reason is given"
		for _, f := range a.failures {
			if rest, ok := strings.CutPrefix(f, name+": "); ok {
				why = rest
			}
		}
		errs = append(errs, fmt.Errorf("its probe %s fails there: %s", name, why))
	}
	for name := range r.probes {
		if !here[name] {
			errs = append(errs, fmt.Errorf("its probe %s is there no more; was it started anew with other flags?", name))
		}
	}
	for name := range here {
		r.probes[name] = true
	}
	return r.out, errors.Join(errs...)
}

// An answer is a response without its body.
type answer struct {
	sent, came time.Time
	failures   []string
}

// clock takes the offset from the four instants of a request, as RFC 5905 does in its section 8. The wall clocks are
// only compared with each other, never with a monotonic one.
func (a answer) clock(received, replied float64) clock {
	sent, came := seconds(a.sent), seconds(a.came)
	return clock{
		offset: time.Duration(((received - sent) + (replied - came)) / 2 * 1e9),
		way:    max(0, time.Duration(((came-sent)-(replied-received))*1e9)),
	}
}

// fetch gets the page into r.body. Anything but a complete answer 200 is an error.
func (r *Remote) fetch(ctx context.Context) (a answer, err error) {
	// The request is written when the connection stands; the handshake before it is not part of the round
	// trip.
	var wrote, first atomic.Int64
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest:         func(httptrace.WroteRequestInfo) { wrote.Store(time.Now().UnixNano()) },
		GotFirstResponseByte: func() { first.Store(time.Now().UnixNano()) },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return a, errors.New("request cannot be made")
	}
	req.Header.Set("Authorization", "Bearer "+r.conf.Token)
	req.Header.Set("User-Agent", "plimsoll")
	began := time.Now()
	res, err := r.client.Do(req)
	came := time.Now()
	if err != nil {
		return a, r.explain(err)
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized:
		return a, errors.New("the agent refuses the token (401); it must be what its -token-file holds")
	default:
		why, _ := io.ReadAll(io.LimitReader(res.Body, maxReason))
		return a, fmt.Errorf("answer %s, want 200: %s", res.Status, oneLine(strings.TrimSpace(string(why))))
	}
	if kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err != nil || kind != "application/openmetrics-text" {
		return a, errors.New("the answer is not the page of plimsoll agent -probe")
	}
	b := r.body[:0]
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := res.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if len(b) > maxBody {
			return a, fmt.Errorf("the agent's page is larger than %d MiB", maxBody>>20)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return a, fmt.Errorf("reading the agent's page: %w", r.explain(err))
		}
	}
	r.body = b
	a = answer{began, came, res.Header.Values(failureHeader)}
	if w, f := wrote.Load(), first.Load(); w > 0 && f >= w {
		a.sent, a.came = time.Unix(0, w), time.Unix(0, f)
	}
	return a, nil
}

// fingerprintError is a certificate that is not the pinned one.
type fingerprintError struct{ got, want string }

func (e *fingerprintError) Error() string {
	return fmt.Sprintf("the certificate there has the fingerprint %s, and the plan says %s; a self-made one is new at each start of the agent (-cert and -key keep it), or this is another host", e.got, e.want)
}

// explain returns a helpful error without the URL.
func (r *Remote) explain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if f, ok := errors.AsType[*fingerprintError](err); ok {
		return f
	}
	var verify *tls.CertificateVerificationError
	switch {
	case errors.As(err, &verify):
		return fmt.Errorf("the certificate there is not trusted: %w; give its authority as ca, or its fingerprint", verify.Err)
	case strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return errors.New("the server there does not speak TLS; is it plimsoll agent -probe?")
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("no answer in time; is that host overloaded, or a firewall between?")
	case errors.Is(err, context.Canceled):
		return context.Canceled
	}
	return fmt.Errorf("%w; does plimsoll agent -probe run there?", err)
}
