package profile

import (
	"os"
	"slices"
	"testing"
	"time"
)

// alone returns the tree of this process, as role 0.
func alone() *processes {
	return newProcesses([]Roots{{Name: "app", PIDs: func() []int { return []int{os.Getpid()} }}})
}

// The records of the kernel show what /proc does not any more.
func TestTreeOfRecords(t *testing.T) {
	p := alone()
	const child, grandchild, stranger = 1 << 28, 1<<28 + 1, 1<<28 + 2
	if p.of(os.Getppid()).role != noRole || p.of(os.Getpid()).role != 0 || p.of(child) != nil {
		t.Fatal("the tree does not begin at this process")
	}
	p.load(os.Getpid(), p.of(os.Getpid()))
	p.forked(child, os.Getpid())
	p.forked(grandchild, child)
	p.forked(stranger, os.Getppid())
	if p.of(grandchild).role != 0 || p.of(stranger).role != noRole {
		t.Error("children have another role than their parent")
	}
	if len(p.of(grandchild).maps) == 0 {
		t.Error("a child has none of its parent's mappings")
	}
	p.executed(child)
	p.mapped(child, mapping{start: 0x1000, end: 0x2000, offset: 0x500, file: fileID{
		inode: 1, path: "/no/such/program",
	}})
	id, offset, ok := p.find(child, p.of(child), 0x1010)
	if !ok || offset != 0x510 || p.files.all[id].name != "program" {
		t.Errorf("%d at %x, %v: %+v", id, offset, ok, p.files.all)
	}
	if _, _, ok := p.find(child, p.of(child), 0x2000); ok {
		t.Error("the end of a mapping is in it")
	}
	if len(p.of(grandchild).maps) == 1 {
		t.Error("the mappings of a child are its parent's new ones")
	}
	p.ended(child)
	if p.of(child) != nil {
		t.Error("a process that has ended is known")
	}
	if got := p.members()[0]; !slices.Contains(got, grandchild) ||
		slices.Contains(got, stranger) {
		t.Errorf("members %v", got)
	}
}

// A role whose process was started again has the new one.
func TestRootsThatChange(t *testing.T) {
	pid := os.Getpid()
	p := newProcesses([]Roots{{Name: "app", PIDs: func() []int { return []int{pid} }}})
	pid = os.Getppid()
	p.refresh()
	if p.of(os.Getppid()).role != 0 {
		t.Error("the new process has no role")
	}
	p.now = func() time.Time { return time.Now().Add(time.Hour) }
	if _, _, ok := p.find(os.Getpid(), p.of(os.Getpid()), 1); ok {
		t.Error("address 1 is in a file")
	}
}

// An anonymous mapping has addresses for offsets, also when it is found the second time.
func TestAnonymousMapping(t *testing.T) {
	p := alone()
	x := &process{role: 0, read: true, at: time.Now()}
	p.known[5] = x
	p.mapped(5, mapping{start: 0x1000, end: 0x2000, offset: 0x10, file: fileID{path: "//anon"}})
	for range 2 {
		if id, offset, ok := p.find(5, x, 0x1234); !ok || offset != 0x1234 ||
			p.files.all[id].pid != 5 {
			t.Errorf("%d, %x, %v", id, offset, ok)
		}
	}
}
