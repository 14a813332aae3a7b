package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/watch/series"
)

// Nginx samples the stub_status page of an nginx, under the names of nginx-prometheus-exporter:
//
//	nginx_connections_active                             open connections, waiting ones included
//	nginx_connections_{reading,writing,waiting}          of them: reading a request, answering, idle
//	nginx_connections_accepted, nginx_connections_handled  counters; fewer handled than accepted means that worker_connections
//	                                                     or the limit of open files ran out
//	nginx_http_requests_total
type Nginx struct {
	*page
	out sink
}

// NewNginx makes the probe of a page with the directive stub_status. labels are added to every
// series. User, password and query of the URL are sent but appear in no name and no error.
func NewNginx(url string, labels ...series.Label) (*Nginx, error) {
	p, _, err := newPage("nginx", url)
	if err != nil {
		return nil, err
	}
	return &Nginx{page: p, out: sink{labels: labels}}, nil
}

// Server returns the name of the program that sent the last page, with its version if it tells
// that: nginx/1.22.1. Empty before the first one.
func (n *Nginx) Server() string { return n.server }

// Sample fetches the page.
func (n *Nginx) Sample(ctx context.Context, _ time.Time) ([]series.Sample, error) {
	n.out.reset()
	body, _, err := n.fetch(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w; is stub_status switched on there, and allowed from here?", err)
	}
	if err := parseStubStatus(body, &n.out); err != nil {
		return nil, err
	}
	return n.out.s, nil
}

// parseStubStatus reads
//
//	Active connections: 291
//	server accepts handled requests
//	 16630948 16630948 31070465
//	Reading: 6 Writing: 179 Waiting: 106
//
// Tengine has a fourth column, which is left out.
func parseStubStatus(text []byte, k *sink) error {
	wrong := errors.New(
		"is no stub_status page: want \"Active connections: N\" and three lines more",
	)
	page := bytes.SplitN(text, newline, 5)
	if len(page) < 4 {
		return wrong
	}
	rest, ok := bytes.CutPrefix(page[0], []byte("Active connections: "))
	if !ok {
		return wrong
	}
	var v [7]uint64
	var err error
	if v[0], err = number(bytes.TrimSpace(rest)); err != nil {
		return wrong
	}
	if !bytes.HasPrefix(page[1], []byte("server accepts handled requests")) {
		return wrong
	}
	f := fields(bytes.TrimSpace(page[2]))
	for i := 1; i <= 3; i++ {
		if v[i], err = f.number(); err != nil {
			return wrong
		}
	}
	f = fields(bytes.TrimSpace(page[3]))
	for i, word := range []string{"Reading:", "Writing:", "Waiting:"} {
		if string(f.next()) != word {
			return wrong
		}
		if v[4+i], err = f.number(); err != nil {
			return wrong
		}
	}
	for i, name := range []string{"nginx_connections_active", "nginx_connections_accepted", "nginx_connections_handled",
		"nginx_http_requests_total", "nginx_connections_reading", "nginx_connections_writing", "nginx_connections_waiting"} {
		k.add(name, nil, float64(v[i]))
	}
	return nil
}
