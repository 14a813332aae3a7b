package server_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/newsfeed/server"
)

func dial(addr string) (net.Conn, error) {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	return c, c.SetDeadline(time.Now().Add(patience))
}

// TestAStoreComesBack kills a store in the middle of a record and starts it again on the same
// address: all before is there, and the same client goes on.
func TestAStoreComesBack(t *testing.T) {
	dir := t.TempDir()
	cfg := server.StoreConfig{Kind: server.KindBus, Dir: dir}
	addr, r := store(t, cfg)
	b := server.NewBus(addr)
	defer b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	produce := func(want int64, texts ...string) {
		t.Helper()
		var batch [][]byte
		for _, s := range texts {
			batch = append(batch, []byte(s))
		}
		at, err := b.Produce(ctx, batch)
		if err != nil || at != want {
			t.Fatalf("Produce: offset %d, %v; want %d", at, err, want)
		}
	}
	produce(0, "a", "bb")
	produce(2, "")
	resting := server.NewBus(addr) // does not notice the restart
	defer resting.Close()
	if _, err := resting.Fetch(ctx, 0); err != nil {
		t.Fatal(err)
	}
	r.stop(t)
	if _, err := b.Produce(ctx, [][]byte{[]byte("x")}); err == nil {
		t.Fatal("a stopped bus has taken a record")
	}
	journal := filepath.Join(dir, "bus.journal")
	f, err := os.OpenFile(journal, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	// nine bytes announced
	if _, err := f.Write([]byte{9, 0, 0, 0, 1, 2, 3, 4, 'h', 'a', 'l'}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	cfg.Listen = addr
	store(t, cfg)
	produce(3, "d")
	got, err := b.Fetch(ctx, 1)
	if err != nil || fmt.Sprintf("%s", got) != "[bb  d]" {
		t.Errorf("Fetch: %s, %v", got, err)
	}
	if got, err := resting.Fetch(ctx, 3); err != nil || len(got) != 1 {
		t.Errorf("a client that rested over the restart: %s, %v", got, err)
	}
	if got, err := b.Fetch(ctx, 100); err != nil || len(got) != 0 {
		t.Errorf("Fetch beyond the end: %s, %v", got, err)
	}
}

func TestAFullBusRefuses(t *testing.T) {
	addr, _ := store(t, server.StoreConfig{Kind: server.KindBus, Most: 100})
	b := server.NewBus(addr)
	defer b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := b.Produce(ctx, [][]byte{make([]byte, 50)}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Produce(ctx, [][]byte{make([]byte, 50)}); err == nil ||
		!strings.Contains(err.Error(), "full") {
		t.Errorf("got %v, want that it is full", err)
	}
	if got, err := b.Fetch(ctx, 0); err != nil || len(got) != 1 {
		t.Errorf("%d records, %v; want the one that was taken", len(got), err)
	}
}

// TestNonsenseFrames: a store answers or hangs up, and serves the next client.
func TestNonsenseFrames(t *testing.T) {
	for _, kind := range []string{server.KindWide, server.KindSearch, server.KindBus} {
		addr, _ := store(t, server.StoreConfig{Kind: kind})
		for _, frame := range []string{"\x00\x00\x00\x00", "\xff\xff\xff\xff", "\x01\x00\x00\x00\xfe", "\x02\x00\x00\x00\x01\xff", "\x03\x00\x00\x00\x02\x80\x80", "\x0b\x00\x00\x00\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
			c, err := dial(addr)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte(frame)); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 100)
			n, err := c.Read(b)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: %q has no answer", kind, frame)
			}
			if n > 4 && b[4] == 0 {
				t.Errorf("%s: %q is answered with success", kind, frame)
			}
			c.Close()
		}
	}
}

func TestBadSettings(t *testing.T) {
	if _, err := server.NewStore(t.Context(), server.StoreConfig{Kind: "table"}); err == nil ||
		!strings.Contains(err.Error(), "wide") {
		t.Errorf("an unknown kind: %v", err)
	}
	good := server.Config{
		DSN:    "postgres://user:hunter2@127.0.0.1:1/x",
		Wide:   "x:1",
		Search: "x:2",
		Bus:    "x:3",
	}
	for say, change := range map[string]func(*server.Config){
		"api":                       func(c *server.Config) { c.API = "soap" },
		"index":                     func(c *server.Config) { c.Index = "never" },
		"newsfeed store -kind wide": func(c *server.Config) { c.Wide = "" },
		"connections":               func(c *server.Config) { c.MaxConns = -1 },
		"DSN":                       func(c *server.Config) { c.DSN = "oracle://hunter2" },
		"preparing the database":    func(*server.Config) {},
	} {
		cfg := good
		change(&cfg)
		_, err := server.New(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), say) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v, want an error that speaks of %s and no secret", err, say)
		}
	}
}
