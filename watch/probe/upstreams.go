package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/linux"
	"plimsoll/watch/series"
)

// Upstreams reads the growing log of a proxy on this host, one line for each request that an
// upstream answered: address, status, and seconds until the last byte of its answer, with a space
// between. WebSockets (status 101), whose time is their life, and lines without an upstream
// are left out.
//
//	plimsoll_proxy_upstream_requests_total{upstream,code}  answers by address and class of their status (2xx to 5xx)
//	plimsoll_proxy_upstream_seconds_total{upstream}        time that they took
//
// It begins at the end that the log has when the probe is made. The part that it has read is given
// back to the file system, where that can be done (Linux), so a long run does not fill the disk;
// the log's size stays as it was.
type Upstreams struct {
	name   string
	path   string
	labels []series.Label

	f     *os.File
	at    int64 // what has been read
	freed int64
	rest  []byte // of a line
	buf   []byte
	sums  map[string]*upstream
	order []*upstream
	out   sink
}

// mostUpstreams bounds the addresses that get series of their own.
const mostUpstreams = 100

// The memory of freeEvery bytes is given back at a time.
const freeEvery = 1 << 20

type upstream struct {
	seconds float64
	codes   [6]float64 // by the first digit of the status
	time    []series.Label
	code    [6][]series.Label
}

// NewUpstreams makes the probe of a log, which must exist. labels are added to every series; the
// value of "instance" also to the name.
func NewUpstreams(path string, labels ...series.Label) (*Upstreams, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the proxy's log: %w", err)
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading the proxy's log: %w", err), f.Close())
	}
	u := &Upstreams{
		name:   NameOf("upstreams", labels),
		path:   path,
		labels: labels,
		f:      f,
		at:     end,
		freed:  end &^ (freeEvery - 1),
		sums:   map[string]*upstream{},
		buf:    make([]byte, 64<<10),
	}
	return u, nil
}

// Name returns "upstreams" and the instance.
func (u *Upstreams) Name() string { return u.name }

// Close closes the log.
func (u *Upstreams) Close() error { return u.f.Close() }

// Sample reads the lines that were written since the last call.
func (u *Upstreams) Sample(ctx context.Context, _ time.Time) ([]series.Sample, error) {
	u.out.reset()
	for ctx.Err() == nil {
		n, err := u.f.ReadAt(u.buf, u.at)
		u.at += int64(n)
		u.take(u.buf[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading the proxy's log: %w", err)
		}
	}
	if done := u.at &^ (freeEvery - 1); done > u.freed {
		// A file system that cannot do it keeps the log whole.
		_ = linux.Punch(int(u.f.Fd()), u.freed, done-u.freed)
		u.freed = done
	}
	for _, x := range u.order {
		u.out.add("plimsoll_proxy_upstream_seconds_total", x.time, x.seconds)
		for i, n := range x.codes {
			if n > 0 {
				u.out.add("plimsoll_proxy_upstream_requests_total", x.code[i], n)
			}
		}
	}
	return u.out.s, nil
}

// take counts the lines of a part of the log.
func (u *Upstreams) take(b []byte) {
	for {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		if !whole {
			u.rest = append(u.rest, b...)
			return
		}
		if len(u.rest) > 0 {
			line = append(u.rest, line...)
		}
		u.line(line)
		u.rest, b = u.rest[:0], rest
	}
}

// line counts one line. A line of another form is none of an answered request.
func (u *Upstreams) line(line []byte) {
	f := bytes.Fields(line)
	if len(f) != 3 || len(f[1]) != 3 || f[1][0] < '2' || f[1][0] > '5' {
		return
	}
	seconds, err := strconv.ParseFloat(string(f[2]), 64)
	if err != nil || seconds < 0 {
		return
	}
	x := u.sums[string(f[0])]
	if x == nil {
		if len(u.order) == mostUpstreams {
			return
		}
		x = new(upstream)
		x.time = slices.Concat(u.labels, Labels("upstream", string(f[0])))
		for i := range x.code {
			x.code[i] = slices.Concat(x.time, Labels("code", strconv.Itoa(i)+"xx"))
		}
		u.sums[string(f[0])] = x
		u.order = append(u.order, x)
	}
	x.seconds += seconds
	x.codes[f[1][0]-'0']++
}
