package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func open(t *testing.T, dir string, order func(Order) (string, error)) *Publisher {
	t.Helper()
	p, err := Open(dir, order)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(Ending{State: "ended"}) })
	return p
}

func none(Order) (string, error) { return "", errors.New("no orders here") }

// deep returns a directory whose socket has a longer address than the kernel takes.
func deep(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// watch connects, and returns a function that reads the next line.
func watch(t *testing.T, dir string) (net.Conn, func() map[string]any) {
	t.Helper()
	c, err := Dial(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	in := bufio.NewReader(c)
	return c, func() map[string]any {
		t.Helper()
		line, err := in.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var out map[string]any
		if err := json.Unmarshal(line, &out); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return out
	}
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
	}
}

func TestFramesAndEnd(t *testing.T) {
	for name, dir := range map[string]string{"short": t.TempDir(), "long path": deep(t)} {
		t.Run(name, func(t *testing.T) {
			p := open(t, dir, none)
			if p.Watched() {
				t.Fatal("watched by nobody")
			}
			_, next := watch(t, dir)
			until(t, "the reader", p.Watched)
			p.Publish(&Frame{Kind: KindRun, ID: "a", Seq: 1})
			if f := next(); f["id"] != "a" || f["seq"] != 1.0 {
				t.Fatal(f)
			}
			valid := false
			p.Close(Ending{State: "interrupted", Why: "by a person", Valid: &valid})
			for {
				f := next()
				if f["kind"] == KindRun {
					continue // repeated
				}
				if f["kind"] != KindEnd || f["state"] != "interrupted" ||
					f["why"] != "by a person" ||
					f["valid"] != false {
					t.Fatal(f)
				}
				break
			}
			if _, err := os.Lstat(filepath.Join(dir, SocketName)); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("the socket stays: %v", err)
			}
			if _, err := Dial(t.Context(), dir); !errors.Is(err, ErrGone) {
				t.Fatalf("%v, want ErrGone", err)
			}
		})
	}
}

// TestSlowReaderHasTheNewest publishes far more than a socket holds to one who does not read.
func TestSlowReaderHasTheNewest(t *testing.T) {
	dir := t.TempDir()
	p := open(t, dir, none)
	_, next := watch(t, dir)
	until(t, "the reader", p.Watched)
	text := strings.Repeat("x", 4000)
	const last = 3000
	for i := 1; i <= last; i++ {
		p.Publish(&Frame{Kind: KindRun, Seq: int64(i), Phase: text})
	}
	seen := 0
	for {
		f := next()
		if seen++; f["seq"] == float64(last) {
			break
		}
	}
	if seen >= last {
		t.Fatalf("%d frames came: all were queued", seen)
	}
}

func TestOrders(t *testing.T) {
	dir := t.TempDir()
	got := make(chan Order, 1)
	p := open(t, dir, func(o Order) (string, error) {
		if o.Do != OrderUsers {
			return "", fmt.Errorf("order %q", o.Do)
		}
		got <- o
		return "done so", nil
	})
	p.Publish(&Frame{Kind: KindRun, Seq: 1}) // comes before the answer
	done, err := Send(t.Context(), dir, Order{Do: OrderUsers, Users: 7, Over: 1.5})
	if err != nil || done != "done so" {
		t.Fatal(done, err)
	}
	if o := <-got; o.Users != 7 || o.Over != 1.5 {
		t.Fatal(o)
	}
	if _, err := Send(t.Context(), dir, Order{Do: "dance"}); err == nil ||
		!strings.Contains(err.Error(), `order "dance"`) {
		t.Fatal(err)
	}
	c, next := watch(t, dir)
	if _, err := c.Write([]byte("{\"do\":\"users\",\"unknown\":1}\nnot JSON\n")); err != nil {
		t.Fatal(err)
	}
	for refused := 0; refused < 2; {
		if f := next(); f["kind"] == kindAnswer {
			refused++
			if text, _ := f["error"].(string); !strings.Contains(text, "not readable") {
				t.Fatal(f)
			}
		}
	}
	if fi, err := os.Stat(filepath.Join(dir, SocketName)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v: others may connect", fi.Mode(), err)
	}
}

// TestKilledSocketIsReplaced leaves a socket as a killed process does.
func TestKilledSocketIsReplaced(t *testing.T) {
	dir := t.TempDir()
	l, err := net.ListenUnix("unix", &net.UnixAddr{
		Name: filepath.Join(dir, SocketName),
		Net:  "unix",
	})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := Dial(ctx, dir); !errors.Is(err, ErrGone) {
		t.Fatalf("%v, want ErrGone", err)
	}
	p := open(t, dir, none)
	watch(t, dir)
	until(t, "the reader", p.Watched)
}

// TestFrameFits cuts tables, and keeps the readings.
func TestFrameFits(t *testing.T) {
	f := &Frame{Kind: KindRun, ID: "a", Ops: 7}
	for i := range 200 {
		f.Operations = append(f.Operations, Operation{Name: fmt.Sprint("operation", i), Count: 10})
		f.Failures = append(f.Failures, FailureRow{
			Class: "timeout",
			Op:    fmt.Sprint("operation", i),
		})
		f.Agents = append(f.Agents, AgentRow{Name: fmt.Sprint("agent ", i)})
		f.Log = append(f.Log, LogLine{N: i, Text: strings.Repeat("long text ", 50)})
	}
	b := fit(f)
	if len(b) >= MostBytes {
		t.Fatalf("%d bytes", len(b))
	}
	var out Frame
	if err := json.Unmarshal(b, &out); err != nil || out.Ops != 7 || len(out.Operations) == 0 ||
		len(out.Operations)+out.More != 200 {
		t.Fatalf("%d operations and %d more: %v", len(out.Operations), out.More, err)
	}
	if len(f.Operations) != 200 || f.More != 0 {
		t.Fatal("the frame itself was cut")
	}
}

// TestFrameKeepsItsLog is a frame of a search with everything: its tables lose their ends, and no
// line of its log is lost.
func TestFrameKeepsItsLog(t *testing.T) {
	f := &Frame{Kind: KindRun, ID: "a", Search: &SearchNow{}}
	for i := range 70 {
		f.Operations = append(f.Operations, Operation{
			Name:   fmt.Sprint("operation_of_a_person_", i),
			Count:  1234567,
			Errors: 12,
			Rate:   123.45,
			P50:    1.234,
			P95:    12.34,
			P99:    123.4,
		})
	}
	for i := range 24 {
		f.Gates = append(f.Gates, GateNow{Name: fmt.Sprint("gate", i)})
		f.Search.Windows = append(f.Search.Windows, SearchWindow{
			N:       i + 1,
			At:      1234.5,
			Users:   1234,
			Reading: Held,
			Ratio:   0.876,
			Rule:    "p99(op) < 500ms",
		})
	}
	for i := range 12 {
		f.Failures = append(f.Failures, FailureRow{
			Class: "timeout",
			Op:    fmt.Sprint("operation_of_a_person_", i),
			Count: 12,
		})
		f.Log = append(f.Log, LogLine{
			N:    i + 1,
			At:   1234.5,
			Kind: "decision",
			Text: strings.Repeat("why ", 25),
		})
	}
	b := fit(f)
	var out Frame
	if err := json.Unmarshal(b, &out); err != nil || len(b) >= MostBytes {
		t.Fatalf("%d bytes: %v", len(b), err)
	}
	if len(out.Log) != 12 || len(out.Operations) < 8 || len(out.Search.Windows) < 4 ||
		out.Search.Windows[len(out.Search.Windows)-1].N != 24 {
		t.Errorf(
			"%d lines of the log, %d operations, %d windows",
			len(out.Log),
			len(out.Operations),
			len(out.Search.Windows),
		)
	}
	if len(f.Search.Windows) != 24 {
		t.Error("the frame itself was cut")
	}
}

func TestNobodyPublishes(t *testing.T) {
	var p *Publisher
	p.Publish(&Frame{})
	p.Close(Ending{})
	if p.Watched() {
		t.Fatal("nil is watched")
	}
	if n := testing.AllocsPerRun(100, func() { p.Watched() }); n != 0 {
		t.Fatalf("%v allocations while nobody watches", n)
	}
}
