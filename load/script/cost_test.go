package script

import (
	"context"
	"net"
	"runtime"
	"testing"

	"plimsoll/internal/race"
	"plimsoll/load/workload"
)

// answered is a connection that answers each request at once with the same bytes.
type answered struct {
	net.Conn
	left []byte
}

const answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Sat, 28 Nov 2026 04:00:00 GMT\r\n" +
	"Content-Length: 15\r\n\r\n{\"status\":\"OK\"}"

func (c *answered) Write(p []byte) (int, error) {
	c.left = append(c.left[:0], answer...)
	return len(p), nil
}

func (c *answered) Read(p []byte) (int, error) {
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

// instant is a user of a script whose requests are answered without a network.
func instant(t testing.TB, code string) (*stage, *actor) {
	s := staged(t, nil, code, nil)
	s.env.Dial = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { ours.Close(); theirs.Close() })
		return &answered{Conn: ours}, nil
	}
	return s, s.user(0)
}

const lean = `const url = __ENV.BASE_URL + "/ping"; exports.default = function () { http.get(url) }`

func BenchmarkLeanGet(b *testing.B) {
	s, a := instant(b, lean)
	s.act(a, 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := a.Act(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGets(b *testing.B) {
	s, a := instant(b, `const url = __ENV.BASE_URL + "/ping"; exports.default = function () { for (let i = 0; i < 100; i++) http.get(url) }`)
	s.act(a, 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := a.Act(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPost(b *testing.B) {
	s, a := instant(b, `const url = __ENV.BASE_URL + "/posts"; exports.default = function (data) {
	const res = http.post(url, JSON.stringify({text: "hello " + Math.random(), tags: ["a", "b"]}),
		{headers: {"Content-Type": "application/json", "Authorization": "Bearer x"}, tags: {name: "post"}});
	check(res, {"is 200": r => r.status === 200, "ok": r => r.json("status") === "OK"});
}`)
	s.act(a, 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := a.Act(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestCostOfAUser holds the memory of a user that has acted, and the allocations of a lean iteration.
func TestCostOfAUser(t *testing.T) {
	const (
		n           = 300
		mostBytes   = 40 << 10
		mostObjects = 18
	)
	s, first := instant(t, lean)
	s.act(first, 1)
	users := make([]workload.Actor, n)
	before := heap()
	for i := range users {
		a := s.user(i)
		s.act(a, 1)
		users[i] = a
	}
	each := (heap() - before) / n
	runtime.KeepAlive(users)
	t.Logf("%d bytes a user", each)
	if each > mostBytes {
		t.Errorf("a user takes %d bytes, want at most %d", each, mostBytes)
	}
	objects := testing.AllocsPerRun(200, func() {
		if err := first.Act(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if objects > mostObjects && !race.Enabled {
		t.Errorf("an iteration makes %.0f objects, want at most %d", objects, mostObjects)
	}
}
