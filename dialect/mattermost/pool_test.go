package mattermost

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/measure"
	"plimsoll/workload"
)

// A login calls several things together, several times. Each connection that it makes on the way is one that a browser would make, too,
// and one whose port the kernel keeps for a minute after it.
func TestConnectionsOfALogin(t *testing.T) {
	const budget = 4
	var dials, open atomic.Int64
	env := workload.Env{
		URL: nullProcess(t), Seed: 7, Pace: 0.01, Registry: measure.NewRegistry(1), Timeout: 10 * time.Second,
		Params: map[string]string{"connections": "4"}, Secret: func(string) string { return "Aa1!aaaaaaaa" },
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err == nil {
				dials.Add(1)
				open.Add(1)
				conn = &countedConn{Conn: conn, open: &open}
			}
			return conn, err
		},
	}
	b := &Person{}
	if err := b.Provision(t.Context(), env, 1); err != nil {
		t.Fatal(err)
	}
	u := workload.NewUser(0, 0, env.Seed, env.Pace, env.Registry.Recorder(0), time.Now())
	actor, err := b.NewActor(env, u)
	if err != nil {
		t.Fatal(err)
	}
	defer actor.Close()
	dialsBefore, openBefore := dials.Load(), open.Load()
	u.Schedule(0, u.Now())
	if err := actor.Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	const sockets = 1 // the WebSocket
	if n := dials.Load() - dialsBefore; n < 2+sockets || n > budget+sockets {
		t.Errorf("the login made %d connections, want more than one and at most %d beside the WebSocket", n-sockets, budget)
	}
	// A connection that the server ended is counted until somebody has noticed.
	for limit := time.Now().Add(5 * time.Second); open.Load()-openBefore > 1+sockets && time.Now().Before(limit); {
		time.Sleep(10 * time.Millisecond)
	}
	if n := open.Load() - openBefore; n != 1+sockets {
		t.Errorf("%d connections are open after the login, want one and the WebSocket", n)
	}
	actor.Close()
	if n := open.Load() - openBefore; n != 0 {
		t.Errorf("%d connections are open after Close", n)
	}
}

type countedConn struct {
	net.Conn
	open *atomic.Int64
	gone atomic.Bool
}

func (c *countedConn) Close() error {
	if !c.gone.Swap(true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}
