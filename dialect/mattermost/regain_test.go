package mattermost

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// pipes are a listener whose connections lie in memory, so that a test's time can stand still while
// they wait.
type pipes struct {
	made   chan net.Conn
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.made:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	close(p.closed)
	return nil
}
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.made <- theirs
	return ours, nil
}

// A slowServer accepts WebSockets, the n-th (from 0) after slow[n] seconds. It refuses with 503
// where that is negative. lost breaks the connections that are open.
type slowServer struct {
	pipes
	slow  []int
	began time.Time
	busy  sync.WaitGroup // with connections

	mu    sync.Mutex
	asked []int // seconds since began
	lost  chan struct{}
}

func (s *slowServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.busy.Add(1)
	defer s.busy.Done()
	s.mu.Lock()
	n := len(s.asked)
	s.asked = append(s.asked, int(time.Since(s.began).Seconds()))
	lost := s.lost
	s.mu.Unlock()
	wait := 0
	if n < len(s.slow) {
		wait = s.slow[n]
	}
	time.Sleep(time.Duration(max(wait, -wait)) * time.Second)
	if wait < 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	c, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer c.Close()
	if c.WriteMessage(websocket.TextMessage, []byte(hello)) != nil {
		return
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for err := error(nil); err == nil; {
			_, _, err = c.ReadMessage()
		}
	}()
	select {
	case <-gone:
	case <-lost:
		c.Close()
		<-gone
	}
}

// lose breaks all connections as a network does.
func (s *slowServer) lose() {
	s.mu.Lock()
	close(s.lost)
	s.lost = make(chan struct{})
	s.mu.Unlock()
	synctest.Wait()
}

func (s *slowServer) times() []int {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// at connects a person to the server and lets it act from second 10 on.
func (s *slowServer) at(t *testing.T, slow ...int) (*person, *measure.Registry) {
	t.Helper()
	*s = slowServer{pipes: pipes{make(chan net.Conn), make(chan struct{})}, slow: slow,
		began: time.Now(), lost: make(chan struct{})}
	srv := &http.Server{Handler: s}
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(s) })
	t.Cleanup(func() {
		srv.Close()
		served.Wait()
		s.busy.Wait()
	})
	env := workload.Env{URL: "http://host", Pace: 1, Timeout: 30 * time.Second, Dial: s.dial}
	a := lone(t, &env, settings{})
	a.begin(a.login)
	a.u.Schedule(0)
	noError(t, (&act{t.Context(), a}).connect())
	t.Cleanup(a.Close)
	a.c.Table = a.steady
	time.Sleep(10 * time.Second)
	a.u.Schedule(a.u.Now())
	return a, env.Registry
}

// check compares the moments of the handshakes, and wants that nobody was late.
func (s *slowServer) check(t *testing.T, reg *measure.Registry, want ...int) {
	t.Helper()
	if got := s.times(); !slices.Equal(got, want) {
		t.Errorf("handshakes at the seconds %v, want %v", got, want)
	}
	for _, w := range reg.Cut() {
		if late := w.Lag.Max(); late != 0 {
			t.Errorf("%s: lag %v where nobody was late", w.Name, late)
		}
	}
}

// In a storm a server may need the whole time-out for a handshake. The person waits for it: it
// opens no second connection beside it, and nothing of the wait is left for the next loss.
func TestReconnectAtASlowServer(t *testing.T) {
	for name, tt := range map[string]struct {
		slow []int
		want []int // seconds of the handshakes' beginnings
	}{
		// The action drops the connection at 10 s, the network breaks the next one at 100 s.
		"at once": {nil, []int{0, 10, 103}},
		"slow":    {[]int{0, 20}, []int{0, 10, 103}},
		// The reader's first pause begins when the action has failed.
		"refused late": {[]int{0, -20}, []int{0, 10, 33, 103}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s slowServer
				a, reg := s.at(t, tt.slow...)
				if err := (&act{t.Context(), a}).dropAndResume(); (err != nil) != (len(tt.want) == 4) {
					t.Fatalf("the action's reconnection: %v", err)
				}
				time.Sleep(100*time.Second - a.u.Now())
				s.lose()
				time.Sleep(20 * time.Second)
				s.check(t, reg, tt.want...)
				if a.socket() == nil {
					t.Error("the person is not connected")
				}
			})
		})
	}
}

// An action that finds the reader connecting waits for it, and drops that connection.
func TestActionWaitsForTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slowServer
		a, reg := s.at(t, 0, 20)
		s.lose()
		time.Sleep(5 * time.Second) // the reader connects since 13 s
		a.u.Schedule(a.u.Now())
		noError(t, (&act{t.Context(), a}).dropAndResume())
		s.check(t, reg, 0, 13, 33)
	})
}
