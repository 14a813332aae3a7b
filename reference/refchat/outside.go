package refchat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// outside holds resources that requests wait for beyond cores, locks and the database, each created by a fault: a
// pool of workers, a name server, a service to call with a pool of connections to it, a replica of the database. The
// zero value has none.
type outside struct {
	met      *metrics
	workers  chan struct{} // a token per worker that is taken
	names    *nameServer
	calls    *calledService
	replica  *replica
	pause    jitter
	replicas sync.WaitGroup
}

// start creates the resources of the faults. stop must be called, also after an error.
func (o *outside) start(ctx context.Context, f *faults, met *metrics) error {
	o.met, o.pause = met, jitter{mean: f.jitter, coin: f.jitterCoin}
	if f.workers > 0 {
		o.workers = make(chan struct{}, f.workers)
	}
	var lc net.ListenConfig
	if f.dns > 0 {
		conn, err := lc.ListenPacket(ctx, "udp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("the name server of the fault dns: %w", err)
		}
		o.names = newNameServer(conn, f.dns)
	}
	if f.outbound > 0 {
		ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("the service of the fault outbound: %w", err)
		}
		o.calls = newCalledService(ln, f.outbound, f.outboundTime)
	}
	if f.replica > 0 {
		o.replica = newReplica(f.replica)
		o.replicas.Go(o.replica.run)
	}
	return nil
}

func (o *outside) stop() {
	if o.names != nil {
		o.names.close()
	}
	if o.calls != nil {
		o.calls.close()
	}
	if o.replica != nil {
		o.replica.close()
		o.replicas.Wait()
	}
}

// enter takes a worker, resolves a name and waits at random before a request's handler runs; done gives the worker
// back. A GET also waits until the replica, from which it reads, has the earlier writes.
func (o *outside) enter(ctx context.Context, reads bool) (done func(), err error) {
	done = func() {}
	if o.workers != nil {
		start := time.Now()
		select {
		case o.workers <- struct{}{}:
		case <-ctx.Done():
			return done, ctx.Err()
		}
		done = func() { <-o.workers }
		o.met.poolWait.WithLabelValues("workers").Add(time.Since(start).Seconds())
	}
	if o.names != nil {
		start := time.Now()
		if err := o.names.lookup(ctx); err != nil {
			return done, fmt.Errorf("resolving a name: %w", err)
		}
		o.waited("dns", start)
	}
	if d := o.pause.next(); d > 0 {
		if err := sleep(ctx, d); err != nil {
			return done, err
		}
		o.met.faultTime.WithLabelValues("jitter").Add(d.Seconds())
	}
	if reads {
		return done, o.readBack(ctx)
	}
	return done, nil
}

// readBack waits until the replica has all that was written so far.
func (o *outside) readBack(ctx context.Context) error {
	if o.replica == nil {
		return nil
	}
	defer o.waited("replica", time.Now())
	return o.replica.wait(ctx)
}

// posted carries out the consequences of a stored post: a call of a service, and a write that the replica must replay
// before the author is answered.
func (o *outside) posted(ctx context.Context) error {
	if o.calls != nil {
		start := time.Now()
		waited, err := o.calls.call(ctx)
		o.met.poolWait.WithLabelValues("outbound").Add(waited.Seconds())
		if err != nil {
			return fmt.Errorf("calling the service: %w", err)
		}
		o.waited("outbound", start)
	}
	if o.replica == nil {
		return nil
	}
	o.replica.write()
	return o.readBack(ctx)
}

func (o *outside) waited(fault string, since time.Time) {
	o.met.faultTime.WithLabelValues(fault).Add(time.Since(since).Seconds())
}

// jitter is a random time, exponentially distributed.
type jitter struct {
	mean time.Duration
	coin chance
}

func (j *jitter) next() time.Duration {
	if j.mean == 0 {
		return 0
	}
	j.coin.mu.Lock()
	defer j.coin.mu.Unlock()
	return time.Duration(-math.Log1p(-j.coin.rng.Float64()) * float64(j.mean))
}

// nameServer answers questions for addresses one after the other, each after a time; it is a DNS server on loopback,
// and its resolver queries no other.
type nameServer struct {
	conn net.PacketConn
	each time.Duration
	res  net.Resolver
	wg   sync.WaitGroup
	stop chan struct{}
}

func newNameServer(conn net.PacketConn, each time.Duration) *nameServer {
	n := &nameServer{conn: conn, each: each, stop: make(chan struct{})}
	addr := conn.LocalAddr().String()
	n.res = net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", addr)
	}}
	n.wg.Go(n.serve)
	return n
}

func (n *nameServer) close() {
	close(n.stop)
	n.conn.Close()
	n.wg.Wait()
}

func (n *nameServer) serve() {
	buf := make([]byte, 1500)
	for {
		k, from, err := n.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var p dnsmessage.Parser
		h, err := p.Start(buf[:k])
		if err != nil {
			continue
		}
		q, err := p.Question()
		if err != nil {
			continue
		}
		select {
		case <-time.After(n.each):
		case <-n.stop:
			return
		}
		m := dnsmessage.Message{Header: dnsmessage.Header{ID: h.ID, Response: true, Authoritative: true, RecursionAvailable: true}, Questions: []dnsmessage.Question{q},
			Answers: []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET, TTL: 1},
				Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}}}}
		if b, err := m.Pack(); err == nil {
			_, _ = n.conn.WriteTo(b, from) // the client asks again
		}
	}
}

// lookup resolves a name that no cache has.
func (n *nameServer) lookup(ctx context.Context) error {
	got, err := n.res.LookupNetIP(ctx, "ip4", "r"+newID()+".test.")
	if err == nil && (len(got) != 1 || got[0] != netip.AddrFrom4([4]byte{127, 0, 0, 1})) {
		err = fmt.Errorf("addresses %v", got)
	}
	return err
}

// calledService is an HTTP server on loopback that takes a time for each answer, and a client with a bounded pool of
// connections to it.
type calledService struct {
	srv    *http.Server
	client http.Client
	url    string
	wg     sync.WaitGroup
}

func newCalledService(ln net.Listener, conns int, each time.Duration) *calledService {
	s := &calledService{url: "http://" + ln.Addr().String() + "/notify"}
	s.srv = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sleep(r.Context(), each) == nil {
			w.WriteHeader(http.StatusNoContent)
		}
	})}
	s.client.Transport = &http.Transport{MaxConnsPerHost: conns, MaxIdleConnsPerHost: conns, IdleConnTimeout: time.Minute}
	s.wg.Go(func() { _ = s.srv.Serve(ln) })
	return s
}

func (s *calledService) close() {
	_ = s.srv.Close()
	s.client.CloseIdleConnections()
	s.wg.Wait()
}

// call returns how long it waited for a connection of the pool.
func (s *calledService) call(ctx context.Context) (waited time.Duration, err error) {
	var asked time.Time
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { asked = time.Now() },
		GotConn: func(httptrace.GotConnInfo) { waited = time.Since(asked) },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return waited, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // it is empty
	if resp.StatusCode != http.StatusNoContent {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return waited, err
}

// replica stands for a copy of the database that replays writes one after the other, each for a time: it falls behind
// when they come faster.
type replica struct {
	each time.Duration

	mu               sync.Mutex
	written, applied int64
	changed          chan struct{} // closed and replaced whenever written or applied grows
	stop             chan struct{}
}

func newReplica(each time.Duration) *replica {
	return &replica{each: each, changed: make(chan struct{}), stop: make(chan struct{})}
}

var errReplicaStopped = errors.New("the replica has stopped")

func (r *replica) close() { close(r.stop) }

// look returns the numbers of writes made and applied, and a channel that is closed when they
// change.
func (r *replica) look() (written, applied int64, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written, r.applied, r.changed
}

func (r *replica) grow(n *int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*n++
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *replica) write() { r.grow(&r.written) }

// run replays until close.
func (r *replica) run() {
	for {
		written, applied, changed := r.look()
		if applied < written {
			select {
			case <-time.After(r.each):
				r.grow(&r.applied)
			case <-r.stop:
				return
			}
			continue
		}
		select {
		case <-changed:
		case <-r.stop:
			return
		}
	}
}

// wait returns when all is applied that was written when it was called.
func (r *replica) wait(ctx context.Context) error {
	want, applied, changed := r.look()
	for applied < want {
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-r.stop:
			return errReplicaStopped
		}
		_, applied, changed = r.look()
	}
	return nil
}
