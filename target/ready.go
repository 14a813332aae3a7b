package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// pollEvery is the interval of WaitReady's requests.
const pollEvery = 20 * time.Millisecond

// Join makes a URL of a base URL and a path; a whole URL stands for itself.
func Join(base, ref string) string {
	if strings.Contains(ref, "://") {
		return ref
	}
	if ref == "" {
		return base
	}
	return strings.TrimRight(base, "/") + "/" + strings.TrimLeft(ref, "/")
}

// Shown returns an address for messages and files: without user, query and fragment, which may hold
// a secret.
func Shown(ref string) string {
	u, err := url.Parse(ref)
	if err != nil {
		return "an address that cannot be parsed"
	}
	u.User = nil
	u.Fragment = ""
	u.RawFragment = ""
	if u.RawQuery != "" {
		u.RawQuery = "..."
	}
	return u.String()
}

// A Dial connects to an address of the form HOST:PORT, as [net.Dialer.DialContext].
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

// dialTime limits the time of a connection: a lost first packet is sent again after a second. It
// ends before the whole request does, so that a silent address is not taken for a slow server.
const dialTime = 1900 * time.Millisecond

// AnyAnswer is a ready page of a server of which nothing is known: any answer shows that it is up,
// unless its status is one of the 500s. The fragment is never sent.
const AnyAnswer = "/#any-answer"

// ErrSilent is the end of [Ready] without an answer.
var ErrSilent = errors.New("no answer within 2 s")

// Ready requests a URL once, waiting at most 2 seconds. It returns nil when the answer's status is
// one of the 200s, or any below 500 with [AnyAnswer].
func Ready(ctx context.Context, ref string) error { return readyBy(ctx, ref, nil) }

// readyBy is Ready over connections of dial; nil is those of this program's network, which have 1.9
// seconds.
func readyBy(ctx context.Context, ref string, dial Dial) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Second, ErrSilent)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ref, nil)
	if err != nil {
		return errors.New("the ready URL cannot be parsed") // the error would quote it
	}
	req.Close = true
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTime}).DialContext
	}
	// A transport of its own: no proxy of the environment, no connection kept to a server that
	// restarts.
	tr := &http.Transport{DisableKeepAlives: true, DialContext: dial}
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	most := 299
	if strings.HasSuffix(ref, AnyAnswer) {
		most = 499
	}
	if resp.StatusCode < 200 || resp.StatusCode > most {
		e := &AnswerError{At: Shown(ref), Text: resp.Status, Status: resp.StatusCode}
		if to, err := resp.Location(); err == nil {
			e.Location = Shown(to.String())
		}
		return e
	}
	return nil
}

// An AnswerError is an answer that shows a target not to be ready.
type AnswerError struct {
	At, Text string // the address, and the status with its name
	Status   int
	Location string // of a redirect; else empty
}

// Error returns the address and the status.
func (e *AnswerError) Error() string { return e.At + " answers " + e.Text }

// Unavailable reports whether a server that may be about to start answers with the status.
func (e *AnswerError) Unavailable() bool { return e.Status >= 502 && e.Status <= 504 }

// WaitReady requests a URL until the answer's status is 2xx, until ended is closed (nil: never), or
// until ctx ends, which therefore needs a deadline. The error contains the last answer.
func WaitReady(ctx context.Context, ref string, ended <-chan struct{}) error {
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	var last error
	for {
		err := Ready(ctx, ref)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err // not the answer that our own deadline cut short
		}
		select {
		case <-ended:
			return errors.New("it ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", context.Cause(ctx), last)
		case <-t.C:
		}
	}
}
