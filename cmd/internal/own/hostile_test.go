package own

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/dialect/mattermost"
	"plimsoll/internal/failure"
	"plimsoll/internal/race"
	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
	"plimsoll/reference/refnull"
	"plimsoll/target/lab"
)

// A hostileMode is the behavior of a server toward its clients from one moment on. Its contents are
// written again and again until the client is gone.
type hostileMode struct {
	name   string
	socket bool          // it is the WebSockets that it does it to, else the requests
	head   string        // of the answer, or the first frames
	more   []byte        // written after it
	once   bool          // more is written once
	class  measure.Class // of operations that fail by it
}

// hostileModes returns the modes, with their contents only if contents is set: the process that is
// measured does not hold it.
func hostileModes(contents bool) []hostileMode {
	modes := []hostileMode{
		{name: "endless body", class: measure.Body},
		{name: "gzip bomb", class: measure.Body, once: true},
		{name: "JSON of 60 MB", class: measure.Body, once: true},
		{name: "events of 5 MB", class: measure.WS, socket: true},
		{name: "events of 5 MB in fragments", class: measure.WS, socket: true},
		{name: "endless fragments", class: measure.WS, socket: true},
		{name: "ping flood", class: measure.WS, socket: true},
	}
	if !contents {
		return modes
	}
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	list := strings.Repeat(`{"id":"abcdefghijklmnopqrstuvwxyz","message":"x"},`, 1300)
	chunk := fmt.Sprintf("%x\r\n%s\r\n", len(list), list)
	big := strings.Repeat("x", 5<<20)
	for i, c := range [][2]string{
		{ok + "\r\n", list},
		{ok + "Content-Encoding: gzip\r\n\r\n", zeros(60 << 20)},
		{ok + "Transfer-Encoding: chunked\r\n\r\n2\r\n[ \r\n", strings.Repeat(chunk, 60_000_000/len(list)) + "3\r\n{}]\r\n0\r\n\r\n"},
		{"", string(binary.BigEndian.AppendUint64([]byte{0x81, 127}, 5<<20)) + big},
		{"\x01\x01x", string(binary.BigEndian.AppendUint16([]byte{0, 126}, 60_000)) + big[:60_000]},
		{"\x01\x01x", strings.Repeat("\x00\x01x", 1000)},
		{"", strings.Repeat("\x89\x7d"+big[:125], 100)},
	} {
		modes[i].head, modes[i].more = c[0], []byte(c[1])
	}
	return modes
}

// zeros returns n zeros, compressed.
func zeros(n int) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.CopyN(z, zeroReader{}, int64(n)) // into memory
	_ = z.Close()
	return b.String()
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// hostile stands before a server that behaves, and passes everything on until it is armed. Then it
// closes all connections and answers as its mode says.
type hostile struct {
	proxy *httputil.ReverseProxy

	mu    sync.Mutex
	mode  *hostileMode
	conns map[net.Conn]bool
}

// track is for http.Server.ConnState. A connection that became a WebSocket is not reported again.
func (h *hostile) track(c net.Conn, s http.ConnState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s == http.StateNew {
		h.conns[c] = true
	} else if s == http.StateClosed {
		delete(h.conns, c)
	}
}

func (h *hostile) arm(m *hostileMode) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mode = m
	for c := range h.conns {
		_ = c.Close() // the clients come again
		delete(h.conns, c)
	}
}

func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	socket := strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
	h.mu.Lock()
	m := h.mode
	h.mu.Unlock()
	if m == nil || m.socket != socket {
		h.proxy.ServeHTTP(w, r)
		return
	}
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	head := m.head
	if socket {
		sum := sha1.Sum(
			[]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"),
		)
		head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + base64.StdEncoding.EncodeToString(
			sum[:],
		) + "\r\n\r\n" + head
		go func() { _, _ = io.Copy(io.Discard, conn) }() // pongs; it ends with the connection
	}
	_, err = io.WriteString(conn, head)
	for err == nil {
		if _, err = conn.Write(m.more); m.once {
			return
		}
	}
}

// TestHostileProcess is the server of TestHostileServersStayWithinTheBudget, in a process of its
// own, whose memory does not count. Its standard input names one mode a line, "" for none, each of
// which it confirms; it ends with it. PLIMSOLL_HOSTILE_CPU is the core that it has.
func TestHostileProcess(t *testing.T) {
	if os.Getenv("PLIMSOLL_HOSTILE_PROCESS") == "" {
		t.SkipNow() // it is started by another test
	}
	s, err := refnull.New(refnull.Config{})
	failure.None(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := inBackground(func() error { return s.Run(ctx) })
	to, err := url.Parse(s.URL())
	failure.None(t, err)
	if cpu, err := strconv.Atoi(os.Getenv("PLIMSOLL_HOSTILE_CPU")); err == nil {
		failure.None(t, lab.PinSelf([]int{cpu}))
	}
	h := &hostile{
		proxy: &httputil.ReverseProxy{
			Transport: &http.Transport{MaxIdleConnsPerHost: 1000},
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
				w.WriteHeader(502)
			},
		},
		conns: map[net.Conn]bool{},
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	failure.None(t, err)
	srv := &http.Server{Handler: h, ConnState: h.track}
	served := inBackground(func() error { return srv.Serve(l) })
	modes := hostileModes(true)
	fmt.Println("http://" + l.Addr().String())
	fmt.Println(s.URL())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m *hostileMode
		for i := range modes {
			if modes[i].name == in.Text() {
				m = &modes[i]
			}
		}
		h.arm(m)
		fmt.Println("armed")
	}
	_ = srv.Close()
	<-served
	stop()
	<-done
}

// startHostile starts that process and returns its address, that of the server behind it, which
// always behaves, and a function that arms it.
func startHostile(t *testing.T) (address, behind string, arm func(mode string)) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHostileProcess$")
	cmd.Env = append(os.Environ(), "PLIMSOLL_HOSTILE_PROCESS=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	failure.None(t, err)
	out, err := cmd.StdoutPipe()
	failure.None(t, err)
	failure.None(t, cmd.Start())
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	lines := bufio.NewReader(out)
	line := func() string {
		s, err := lines.ReadString('\n')
		failure.None(t, err)
		return strings.TrimSpace(s)
	}
	address, behind = line(), line()
	return address, behind, func(mode string) {
		failure.None(t, failure.Of(fmt.Fprintln(in, mode)))
		line()
	}
}

var residentRE = regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`)

// resident returns the most memory that this process had since it was last called, in bytes; 0
// where the kernel does not report it.
func resident(t *testing.T) int64 {
	b, err := os.ReadFile("/proc/self/status")
	m := residentRE.FindSubmatch(b)
	if err != nil || m == nil || os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	failure.None(t, err)
	return n << 10
}

// However a server floods its users, the answers under way stay within the byte budget and the
// process below a bound, each operation beyond a limit fails with the class body or ws and is
// counted, no user is lost, and late users are reported as late. With PLIMSOLL_HOSTILE_USERS=1000
// it is the figure of docs/validity.md: below 1 GB.
func TestHostileServersStayWithinTheBudget(t *testing.T) {
	users := 100
	pace := 0.02
	budget := int64(48 << 20)
	bound := int64(512 << 20)
	if n, err := strconv.Atoi(os.Getenv("PLIMSOLL_HOSTILE_USERS")); err == nil && n > 0 {
		users = n
		pace = 1
		budget = wire.DefaultBudget
		bound = 1e9
	}
	if race.Enabled {
		users = 25 // memory is not looked at
	}
	wire.Process().SetLimit(budget)
	defer wire.Process().SetLimit(wire.DefaultBudget)
	address, behind, arm := startHostile(t)
	for _, mode := range hostileModes(false) {
		t.Run(mode.name, func(t *testing.T) {
			debug.FreeOSMemory()
			reg := measure.NewRegistry(runtime.GOMAXPROCS(0))
			env := workload.Env{
				URL:      behind,
				Seed:     7,
				Pace:     pace,
				Registry: reg,
				Timeout:  10 * time.Second,
				Ledger:   workload.NewLedger(0, 1),
				Tally:    new(workload.Tally),
				Secret: func(name string) string {
					return map[string]string{"admin_password": "Aa1!aaaaaaaa"}[name]
				},
			}
			b := &mattermost.Person{}
			failure.None(t, b.Provision(t.Context(), env, users))
			env.URL = address
			local, err := engine.New(t.Context(), engine.Config{
				Env:   env,
				Mix:   []engine.Part{{Behavior: b, Share: 1}},
				Clock: clock.New(time.Now()),
			})
			failure.None(t, err)
			defer local.Stop(time.Second)
			failure.None(t, local.SetUsers(users, time.Second))
			until := func(what string, there func() bool) {
				for end := time.Now().Add(2 * time.Minute); !there(); time.Sleep(20 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("after two minutes: not %s", what)
					}
				}
			}
			until("all users acting", func() bool {
				_, active, _ := local.Users()
				return active == users
			})
			reg.Cut()
			before, _ := wire.Refused(), resident(t)
			wire.Process().Peak()
			arm(mode.name)
			seen := func() wire.Refusals { return wire.Refused().Sub(before) }
			refused := func() int64 { r := seen(); return r.Beyond() + r.Budget }
			until(fmt.Sprintf("a refusal for each of %d users", users), func() bool {
				return refused() >= int64(users)
			})
			classes, late := [measure.NumClasses]uint64{}, new(measure.Histogram)
			take := func() {
				late.Reset() // the first time it holds that all connections broke at once
				for _, w := range reg.Cut() {
					for c, n := range w.Classes {
						classes[c] += n
					}
					if w.Name == workload.Schedule || workload.Operation(w.Name) {
						late.Merge(w.Lag)
					}
				}
			}
			take()
			more := refused() + int64(users/2)
			until("half as many again", func() bool { return refused() >= more })
			take()
			got := seen()
			peak := wire.Process().Peak()
			most := resident(t)
			arm("")
			_, active, failed := local.Users()
			local.Stop(2 * time.Second)
			t.Logf(
				"%d users: %+v; held %d MB of %d MB, process %d MB; %d of class %v; lag p99 %v of %d; classes %v",
				users,
				got,
				peak>>20,
				budget>>20,
				most>>20,
				classes[mode.class],
				mode.class,
				late.Quantile(0.99),
				late.Count(),
				classes,
			)
			if peak > budget {
				t.Errorf("answers held %d bytes at once, of a budget of %d", peak, budget)
			}
			for range 1000 { // the budget of a broken connection is refunded when it is collected
				if wire.Process().Used() == 0 {
					break
				}
				runtime.GC()
				time.Sleep(time.Millisecond)
			}
			if used := wire.Process().Used(); used != 0 {
				t.Errorf("%d bytes stay taken when all users are gone", used)
			}
			if most > bound && !race.Enabled {
				t.Errorf("the process took %d MB, want at most %d MB", most>>20, bound>>20)
			}
			if classes[mode.class] == 0 {
				t.Errorf("nothing failed with class %v: %v", mode.class, classes)
			}
			if sockets := got.Messages + got.Fragments + got.Controls; mode.socket != (sockets > 0) ||
				mode.socket && got.Bodies > 0 {
				t.Errorf("refused %+v", got)
			}
			if failed > 0 || active == 0 {
				t.Errorf("%d users act, %d have failed for good", active, failed)
			}
			if late.Count() == 0 {
				t.Error("no lag was recorded: the gates could not see it")
			}
		})
	}
}
