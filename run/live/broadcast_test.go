package live

import (
	"context"
	"strings"
	"testing"
	"time"
)

// A broadcast has the block under way, its runs with their turns and the last lines of the log,
// takes an order to stop and no other, and ends with how the comparison ended.
func TestBroadcast(t *testing.T) {
	dir := t.TempDir()
	stopped := make(chan bool, 1)
	like := Whole{Kind: KindComparison, ID: "c", Blocks: 6, Began: time.Now()}
	b, err := OpenBroadcast(t.Context(), dir, like, func() { stopped <- true })
	if err != nil {
		t.Fatal(err)
	}
	b.SetBlock(2, true)
	b.SetStep("measure", "block 2/6 again", time.Minute)
	for range ShownLines {
		b.Say("a line")
	}
	b.Say("the last line")
	b.Show(&Frame{ID: "new", Arm: "new"}, func() bool { return true })
	b.Show(&Frame{ID: "gone", Arm: "base"}, nil)
	b.Show(&Frame{ID: "base", Arm: "base"}, func() bool { return false })
	b.Over("gone")
	_, next := watch(t, dir)
	f := next()
	if f["kind"] != KindComparison || f["block"] != 2.0 || f["again"] != true ||
		f["step"] != "measure" ||
		f["left"] != 60.0 {
		t.Errorf("%v", f)
	}
	runs, _ := f["runs"].([]any)
	if len(runs) != 2 || runs[0].(map[string]any)["turn"] == true ||
		runs[1].(map[string]any)["turn"] != true {
		t.Errorf("runs %v, want base without the turn and new with it", runs)
	}
	lines, _ := f["log"].([]any)
	if len(lines) != ShownLines || lines[ShownLines-1].(map[string]any)["text"] != "the last line" {
		t.Errorf("log %v", lines)
	}
	if _, err := Send(t.Context(), dir, Order{
		Do:    OrderUsers,
		Users: 3,
	}); err == nil || !strings.Contains(err.Error(), "can be stopped only") {
		t.Errorf("users of a comparison: %v", err)
	}
	if done, err := Send(t.Context(), dir, Order{Do: OrderStop}); err != nil || done == "" {
		t.Errorf("%q, %v", done, err)
	}
	<-stopped
	b.Close(Ending{State: "interrupted", Why: "stopped"})
	last := f
	for last["kind"] != KindEnd {
		last = next()
	}
	if last["state"] != "interrupted" {
		t.Errorf("the last line is %v", last)
	}
}

// A comparison whose socket could not be made goes on without one.
func TestNoBroadcast(t *testing.T) {
	var b *Broadcast
	b.SetBlock(1, false)
	b.SetBlocks(3)
	b.SetStep("", "", 0)
	b.Say("")
	b.Show(new(Frame), nil)
	b.Over("")
	b.Close(Ending{})
	if b.Watched() || b.Is(KindComparison) {
		t.Error("somebody watches it")
	}
	if _, err := OpenBroadcast(context.Background(), t.TempDir()+"/none", Whole{}, nil); err == nil {
		t.Error("a directory that is not there has a socket")
	}
}
