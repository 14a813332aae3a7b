package mattermost

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/internal/failure"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// A login calls several things together, several times. Each connection that it makes on the way is
// one that a browser would make, too, and one whose port the kernel keeps for a minute after it.
func TestConnectionsOfALogin(t *testing.T) {
	const budget = 4
	var dials, open atomic.Int64
	env := nullEnv(nullProcess(t), 0.01)
	env.Params = map[string]string{"connections": "4"}
	env.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			dials.Add(1)
			open.Add(1)
			conn = &countedConn{Conn: conn, open: &open}
		}
		return conn, err
	}
	b := &Person{}
	noError(t, b.Provision(t.Context(), env, 1))
	u := userOf(env, 0)
	actor := newActor(t, b, env, u)
	defer actor.Close()
	dialsBefore := dials.Load()
	openBefore := open.Load()
	u.Schedule(u.Now())
	noError(t, actor.Login(t.Context()))
	const sockets = 1 // the WebSocket
	if n := dials.Load() - dialsBefore; n < 2+sockets || n > budget+sockets {
		t.Errorf(
			"the login made %d connections, want more than one and at most %d beside the WebSocket",
			n-sockets,
			budget,
		)
	}
	// A connection that the server ended is counted until its end is noticed.
	failure.Unless(t, func() bool { return open.Load()-openBefore == 1+sockets },
		"after the login more connections are open than one and the WebSocket")
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

// A post with two files: the small one is uploaded on the person's own connection, the film on
// another. The person's wait for the film is in the film's op. The post that follows, which found
// its connection free, waited for nothing; that the generator went on to it late is lag, as it is
// of calls that go out together.
func TestOpAfterCallsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := measure.NewRegistry(1)
		u := userOf(workload.Env{Registry: reg}, 0)
		a := &person{b: &Person{set: settings{parallel: true}}, u: u,
			pool: pool{budget: 2, cfg: api.Options{URL: "http://127.0.0.1:9"}}}
		defer a.pool.close()
		defer a.begin(&api.Table{})()
		const lag, slow = 3 * time.Millisecond, 20 * time.Millisecond
		op := func(name string, d time.Duration) call {
			return func(_ context.Context, c *api.Client) error {
				time.Sleep(slow) // the generator
				sent := time.Now()
				time.Sleep(d)
				c.Recorder.Done(reg.Name(name), sent, sent, time.Now(), measure.OK, 0)
				return nil
			}
		}
		intended := u.Now()
		time.Sleep(lag)
		u.Schedule(intended)
		noError(t, (&act{t.Context(), a}).together(op("notes", 15*time.Millisecond),
			op("film", 200*time.Millisecond)))
		noError(t, op("post", 5*time.Millisecond)(t.Context(), a.c))
		want := map[string]struct{ lag, wait, response time.Duration }{
			// the first op of the action, which was late
			"notes": {lag: lag + slow, response: 15 * time.Millisecond},
			"film":  {lag: lag + slow, response: 200 * time.Millisecond},
			"post":  {lag: slow, response: 5 * time.Millisecond},
		}
		for _, w := range reg.Cut() {
			tt, ok := want[w.Name]
			if !ok {
				continue
			}
			delete(want, w.Name)
			if w.Count() != 1 || w.Lag.Max() != tt.lag || w.Wait.Max() != tt.wait ||
				w.Response.Max() != tt.response {
				t.Errorf(
					"%s: %d ops, lag %v, wait %v, response %v; want one of %+v",
					w.Name,
					w.Count(),
					w.Lag.Max(),
					w.Wait.Max(),
					w.Response.Max(),
					tt,
				)
			}
		}
		if len(want) > 0 {
			t.Errorf("not recorded: %v", want)
		}
	})
}

// A person that takes its WebSocket up again keeps the HTTP connection that it has.
func TestResumeKeepsTheConnection(t *testing.T) {
	url := socketServer(t, func(c *websocket.Conn, send func(string)) {
		send(hello)
		c.ReadMessage()
	})
	a := lone(t, &workload.Env{URL: url, Pace: 1}, settings{connections: 6})
	defer a.Close()
	a.u.Schedule(a.u.Now())
	end := a.begin(a.login)
	own := a.c // whose connection stands
	noError(t, (&act{t.Context(), a}).connect())
	noError(t, (&act{t.Context(), a}).dropAndResume())
	end()
	if a.pool.idle[0] != own || a.pool.open != 1 {
		t.Errorf("the connection was given up for another one; %d are open", a.pool.open)
	}
}
