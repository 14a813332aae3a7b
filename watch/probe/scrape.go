package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"
)

// Limits of an answer in bytes. A server with many histograms exposes two or three megabytes.
const (
	maxBody   = 16 << 20
	maxHeader = 64 << 10
)

// Scrape fetches a metrics endpoint over HTTP, on one connection that it keeps.
type Scrape struct {
	page
	labels map[string]string
}

// page is an HTTP resource that is fetched again and again, on one connection.
type page struct {
	url    string
	name   string
	accept string
	server string // that sent the last answer, as it names itself
	client *http.Client
	body   []byte
}

// newPage checks the URL; what is its noun in errors. User, password and query of the URL are sent
// but appear in no name and no error.
func newPage(what, rawURL string) (*page, *url.URL, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		// The error of url.Parse quotes the whole text, with the password.
		return nil, nil, fmt.Errorf("%s URL cannot be parsed; want http://HOST:PORT/PATH", what)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, nil, fmt.Errorf(
			"%s URL with scheme %q and host %q; want http://HOST:PORT/PATH",
			what,
			u.Scheme,
			u.Host,
		)
	}
	p := &page{url: rawURL, name: what + " " + u.Host + u.EscapedPath(), accept: "*/*"}
	p.client = &http.Client{
		Transport: &http.Transport{
			DisableCompression:  true, // both ends share the measured host's CPU
			MaxIdleConnsPerHost: 1,
			MaxConnsPerHost:     1,
			IdleConnTimeout:     time.Minute,

			MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	return p, u, nil
}

// Name returns the noun of the page, and the URL's host and path.
func (p *page) Name() string { return p.name }

// Close drops the connection.
func (p *page) Close() error {
	p.client.CloseIdleConnections()
	return nil
}

// NewScrape makes the scraper of an http or https URL. labels are added to every series; "instance"
// is set to the URL's host unless given. User, password and query of the URL are sent but appear in
// no name and no error.
func NewScrape(rawURL string, labels map[string]string) (*Scrape, error) {
	p, u, err := newPage("scrape", rawURL)
	if err != nil {
		return nil, err
	}
	l := maps.Clone(labels)
	if l == nil {
		l = map[string]string{}
	}
	if l["instance"] == "" {
		l["instance"] = u.Host
	}
	p.accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
	return &Scrape{page: *p, labels: l}, nil
}

// Labels returns the labels to add. The caller must not change them.
func (s *Scrape) Labels() map[string]string { return s.labels }

// Scrape fetches the endpoint. Anything but a complete answer 200 of at most 16 MiB is an error.
func (s *Scrape) Scrape(ctx context.Context) (body []byte, contentType string, err error) {
	if body, contentType, err = s.fetch(ctx); err != nil {
		err = fmt.Errorf(
			"%w; does the metrics page (metrics_url, or url of the probe) still answer?",
			err,
		)
	}
	return body, contentType, err
}

// fetch returns the resource, valid until the next call. Anything but a complete answer 200 of at
// most 16 MiB is an error.
func (p *page) fetch(ctx context.Context) (body []byte, contentType string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return nil, "", errors.New("request cannot be made")
	}
	req.Header.Set("Accept", p.accept)
	req.Header.Set("User-Agent", "plimsoll")
	res, err := p.client.Do(req)
	if err != nil {
		return nil, "", bare(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("answer %s, want 200", res.Status)
	}
	b := p.body[:0]
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := res.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if len(b) > maxBody {
			return nil, "", fmt.Errorf("answer is larger than %d MiB", maxBody>>20)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, "", fmt.Errorf("reading the answer: %w", bare(err))
		}
	}
	p.body, p.server = b, res.Header.Get("Server")
	return b, res.Header.Get("Content-Type"), nil
}

// bare takes the URL off an HTTP client's error: its query may hold a token.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
