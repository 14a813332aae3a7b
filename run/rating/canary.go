package rating

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// The canary is listened to for canarySlices of canarySlice each before a run; the median counts.
const (
	canarySlices = 5
	canarySlice  = 100 * time.Millisecond
)

// A Control is the canary: the null server on the target's cores, which gets requests over one
// connection from the generator's cores before each run, while no target is running. It is the same
// for all arms, so that it moves only with the host.
type Control struct {
	host string // and port
	path string
}

// StartCanary starts the null server. The caller calls stop.
func (n Null) StartCanary(ctx context.Context) (c *Control, stop func(), err error) {
	at, stop, err := n.Start(ctx)
	if err != nil {
		return nil, nil, err
	}
	u, err := url.Parse(at)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return &Control{host: u.Host, path: "/api/v4/system/ping"}, stop, nil
}

// Listen returns how many requests one connection gets answered in a second, one after the other.
func (c *Control) Listen(ctx context.Context) (perSecond float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.host)
	if err != nil {
		return 0, fmt.Errorf("canary: %w", err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return 0, fmt.Errorf("canary: %w", err)
	}
	in := bufio.NewReader(conn)
	request := []byte("GET " + c.path + " HTTP/1.1\r\nHost: canary\r\n\r\n")
	ask := func() error {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if resp.Body.Close(); err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		return err
	}
	var rates []float64
	for i := range canarySlices + 1 {
		n, began := 0, time.Now()
		for time.Since(began) < canarySlice {
			if err := ask(); err != nil {
				return 0, fmt.Errorf("canary: %w", err)
			}
			if n++; n%64 == 0 && ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
		}
		if i > 0 { // the first one warms both sides up
			rates = append(rates, float64(n)/time.Since(began).Seconds())
		}
	}
	slices.Sort(rates)
	return rates[len(rates)/2], nil
}
