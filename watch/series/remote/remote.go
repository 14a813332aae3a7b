package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/util/compression"
)

// Limits and times of a Sender. Their zero values in [Config] mean these.
const (
	// DefaultQueue limits the samples that wait to be sent; a sample takes about 40 bytes.
	DefaultQueue = 200_000
	// DefaultBatch limits the samples that are sent at once.
	DefaultBatch = 5_000
	// DefaultDeadline is the time after which a batch is given up.
	DefaultDeadline = 30 * time.Second
	// DefaultTimeout ends one request.
	DefaultTimeout = 10 * time.Second

	interval   = time.Second            // the age at which a batch that is not full is sent
	firstPause = 250 * time.Millisecond // before a second try; doubled up to longPause
	longPause  = 5 * time.Second
	mostReply  = 256 // bytes of a server's reason that are kept
)

// Config configures a Sender.
type Config struct {
	URL string
	// Authorization is the value of that header; empty for none.
	Authorization string
	// Labels are added to every series that does not have them already.
	Labels map[string]string
	// Failed is called, from the sending goroutine, when the first request of a row fails, and with
	// nil when requests succeed again.
	Failed func(error)

	// For tests: the way of requests, and the sizes in place of DefaultQueue and DefaultBatch.
	transport    http.RoundTripper
	queue, batch int
}

// Stats count samples.
type Stats struct {
	Sent, Lost uint64
	Requests   uint64 // that were made
	Retries    uint64 // that were made again
	Err        error  // the last reason of a loss
}

type sample struct {
	l  labels.Labels
	ms int64
	v  float64
}

// A Sender sends samples. Its methods are safe for concurrent use.
type Sender struct {
	c       Config
	address string // that may be printed
	client  *http.Client

	mu     sync.Mutex
	queue  []sample
	stats  Stats
	closed bool
	wake   chan struct{}
	done   chan struct{}
	ctx    context.Context //nolint:containedctx // of the sending goroutine, ended by Close
	end    context.CancelFunc

	failing bool
	request prompb.WriteRequest
	series  map[labels.Labels]int
}

// Check returns an error for an invalid address: it must be http or https with a host, and without
// a user and password.
func Check(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return errors.New("the address of remote write is no URL")
	case u.User != nil,
		u.Host == "" && strings.Contains(address, "@"): // user:password@host has no User
		return errors.New(
			"the address of remote write holds a user or password, which others could read; give credentials by environment or file",
		)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf(
			"the address of remote write, %s, wants the form http://host:port/path",
			printable(address),
		)
	}
	return nil
}

// printable leaves out parts that may be secret.
func printable(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the address of remote write"
	}
	u.User, u.Fragment = nil, ""
	if u.RawQuery != "" {
		u.RawQuery = "..."
	}
	return u.String()
}

// New starts a Sender.
func New(c Config) (*Sender, error) {
	if err := Check(c.URL); err != nil {
		return nil, err
	}
	c.queue, c.batch = cmp.Or(c.queue, DefaultQueue), cmp.Or(c.batch, DefaultBatch)
	s := &Sender{
		c:       c,
		address: printable(c.URL),
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),
		series:  map[labels.Labels]int{},
	}
	s.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	if s.client.Transport = c.transport; c.transport == nil {
		s.client.Transport = &http.Transport{
			Proxy:           proxy(http.ProxyFromEnvironment),
			IdleConnTimeout: time.Minute,
		}
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	go s.loop()
	return s, nil
}

// proxy is a proxy function of a transport whose errors do not quote the proxy's address, which may
// hold a password.
func proxy(of func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(r *http.Request) (*url.URL, error) {
		u, err := of(r)
		if err != nil {
			err = errors.New("the address of the proxy (HTTP_PROXY, HTTPS_PROXY) is no URL")
		}
		return u, err
	}
}

// Offer takes a batch into the queue, all or none. It fits series.DB.Tap.
func (s *Sender) Offer(t time.Time, n int, samples iter.Seq2[labels.Labels, float64]) {
	ms := t.UnixMilli()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.queue)+n > s.c.queue {
		s.lose(n, fmt.Errorf("the queue of %d samples was full", s.c.queue))
		return
	}
	for l, v := range samples {
		s.queue = append(s.queue, sample{l, ms, v})
	}
	if len(s.queue) >= s.c.batch {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// lose is called with the lock held.
func (s *Sender) lose(n int, err error) {
	s.stats.Lost += uint64(n)
	if s.stats.Err == nil || !errors.Is(err, errEnd) {
		s.stats.Err = err
	}
}

// errEnd is less specific than any other reason.
var errEnd = errors.New("not delivered before the end")

// Stats returns the counts of samples sent and lost so far.
func (s *Sender) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Close sends the queue, until ctx ends; the rest is then lost. It waits for the sending goroutine.
func (s *Sender) Close(ctx context.Context) Stats {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	if !already {
		close(s.wake)
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		s.end() // ends the request and the pause under way
		<-s.done
	}
	s.end()
	s.client.CloseIdleConnections()
	return s.Stats()
}

func (s *Sender) loop() {
	defer close(s.done)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for open := true; open; {
		select {
		case _, open = <-s.wake:
		case <-tick.C:
		}
		for {
			batch := s.take()
			if len(batch) == 0 {
				break
			}
			s.deliver(batch)
		}
	}
}

// take removes up to a batch from the queue.
func (s *Sender) take() []sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.queue), s.c.batch)
	batch := slices.Clone(s.queue[:n])
	s.queue = s.queue[:copy(s.queue, s.queue[n:])]
	return batch
}

// deliver tries until the batch is sent, refused, or too old.
func (s *Sender) deliver(batch []sample) {
	if s.ctx.Err() != nil {
		s.over(len(batch), errEnd)
		return
	}
	body, err := s.encode(batch)
	if err != nil {
		s.over(len(batch), fmt.Errorf("encoding: %w", err))
		return
	}
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		again, after, err := s.post(body)
		if err == nil || !again {
			s.over(len(batch), err)
			return
		}
		s.tell(err)
		after = max(after, pause)
		if time.Since(began)+after > DefaultDeadline {
			s.over(
				len(batch),
				fmt.Errorf("given up after %v: %w", time.Since(began).Round(time.Second), err),
			)
			return
		}
		select {
		case <-time.After(after):
		case <-s.ctx.Done():
			s.over(len(batch), fmt.Errorf("%w: %w", errEnd, err))
			return
		}
		s.mu.Lock()
		s.stats.Retries++
		s.mu.Unlock()
	}
}

// over counts a batch as sent, or lost with the reason.
func (s *Sender) over(n int, err error) {
	s.tell(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.stats.Sent += uint64(n)
		return
	}
	s.lose(n, err)
}

// tell calls Failed at a change between success and failure.
func (s *Sender) tell(err error) {
	if failing := err != nil; failing != s.failing {
		s.failing = failing
		if s.c.Failed != nil {
			s.c.Failed(err)
		}
	}
}

// post makes one request. again reports whether another one may succeed, after the given time at
// the earliest.
func (s *Sender) post(body []byte) (again bool, after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, DefaultTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.c.URL, bytes.NewReader(body))
	if err != nil {
		return false, 0, fmt.Errorf("%s: no request can be made", s.address)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("Content-Encoding", "snappy")
	// the value for version 1.0 of the protocol
	req.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
	req.Header.Set("User-Agent", "plimsoll")
	if s.c.Authorization != "" {
		req.Header.Set("Authorization", s.c.Authorization)
	}
	s.mu.Lock()
	s.stats.Requests++
	s.mu.Unlock()
	res, err := s.client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the address, which may hold a secret
		}
		if s.ctx.Err() != nil {
			return false, 0, errEnd
		}
		if s.secret(err.Error()) { // an answer that is not HTTP is quoted
			err = errors.New("the request failed; its error repeats the credentials")
		}
		return true, 0, fmt.Errorf("%s: %w", s.address, err)
	}
	defer res.Body.Close()
	reason, _ := io.ReadAll(io.LimitReader(res.Body, mostReply))
	if res.StatusCode/100 == 2 {
		return false, 0, nil
	}
	status := res.Status // the text in it is the server's
	if s.secret(status) {
		status = strconv.Itoa(res.StatusCode)
	}
	err = fmt.Errorf("%s answered %s", s.address, status)
	if text := strings.Join(strings.Fields(strings.ToValidUTF8(string(reason), "?")), " "); text != "" &&
		!s.secret(text) {
		err = fmt.Errorf("%w: %s", err, text)
	}
	if sec, aerr := strconv.Atoi(res.Header.Get("Retry-After")); aerr == nil && sec > 0 {
		after = time.Duration(min(sec, 3600)) * time.Second
	}
	return res.StatusCode == http.StatusTooManyRequests || res.StatusCode/100 == 5, after, err
}

// secret reports whether a text of the server repeats the credentials.
func (s *Sender) secret(text string) bool {
	_, value, _ := strings.Cut(s.c.Authorization, " ")
	if value != "" && strings.Contains(text, value) {
		return true
	}
	basic, err := base64.StdEncoding.DecodeString(value)
	_, password, ok := strings.Cut(string(basic), ":")
	return err == nil && ok && password != "" && strings.Contains(text, password)
}

// encode groups a batch by series and returns the compressed message.
func (s *Sender) encode(batch []sample) ([]byte, error) {
	clear(s.series)
	ts := s.request.Timeseries[:0]
	for _, p := range batch {
		i, ok := s.series[p.l]
		if !ok {
			i = len(ts)
			s.series[p.l] = i
			ts = append(ts, prompb.TimeSeries{Labels: s.labels(p.l)})
		}
		ts[i].Samples = append(ts[i].Samples, prompb.Sample{Timestamp: p.ms, Value: p.v})
	}
	s.request.Timeseries = ts
	raw, err := s.request.Marshal()
	if err != nil {
		return nil, err
	}
	return compression.Encode(compression.Snappy, raw, compression.NewSyncEncodeBuffer())
}

// labels returns the labels of a series and the labels of all, in order.
func (s *Sender) labels(l labels.Labels) []prompb.Label {
	out := prompb.FromLabels(l, nil)
	for n, v := range s.c.Labels {
		if v != "" && !l.Has(n) {
			out = append(out, prompb.Label{Name: n, Value: v})
		}
	}
	slices.SortFunc(out, func(a, b prompb.Label) int { return strings.Compare(a.Name, b.Name) })
	return out
}
