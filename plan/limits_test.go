package plan_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"plimsoll/plan"
)

// unknown is a plan with n keys that no plan has, as many to a mapping as one may hold.
func unknown(n int) []byte {
	var b strings.Builder
	b.WriteString(minimal + "probes:\n")
	for i := range n {
		if i%1000 == 0 {
			b.WriteString("  - kind: nginx\n")
		}
		if i%1000 != 999 {
			fmt.Fprintf(&b, "    key%d: 1\n", i)
		}
	}
	return []byte(b.String())
}

// allocated returns how many objects parsing a plan allocates.
func allocated(src []byte) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _ = plan.Parse(src)
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// TestUnknownKeysCostLinearWork checks that a megabyte of unknown keys takes as much work per key
// as a small file, without a search for similar keys.
func TestUnknownKeysCostLinearWork(t *testing.T) {
	const n = 20_000
	base := allocated(unknown(1000))
	one, two := allocated(unknown(n)), allocated(unknown(2*n))
	t.Logf("objects: %d for 1,000 keys, %d for %d, %d for %d", base, one, n, two, 2*n)
	if each := (two - one) / n; each > 20 {
		t.Errorf("%d objects for each further key, want at most 20", each)
	}
	if two > 5*one/2 {
		t.Errorf("%d objects for %d keys, %d for twice as many", one, n, two)
	}
}

// TestProblemsAreCounted: the first 100 problems are described, the rest is counted.
func TestProblemsAreCounted(t *testing.T) {
	_, err := plan.Parse(unknown(5000))
	var all *plan.Error
	if !errors.As(err, &all) || len(all.Problems) != 100 || all.More < 4000 {
		t.Fatalf("%d problems and %d more", len(all.Problems), all.More)
	}
	if text := err.Error(); !strings.HasSuffix(
		text,
		fmt.Sprintf("\nand %d problems more", all.More),
	) ||
		len(text) > 64<<10 {
		t.Errorf("%d bytes that end in %q", len(text), text[len(text)-40:])
	}
	if _, err := plan.Parse([]byte(minimal + "sed: 5\n")); strings.Contains(err.Error(), "more") {
		t.Errorf("one problem: %v", err)
	}
}

// TestListsAndMappingsAreBounded checks that lists whose elements are compared with each other are
// no longer than a person writes.
func TestListsAndMappingsAreBounded(t *testing.T) {
	cpus := strings.TrimSuffix(strings.Repeat("0,", 1001), ",")
	env := func(n int) string {
		var b strings.Builder
		b.WriteString("setup:\n")
		for i := range n {
			fmt.Fprintf(&b, "  k%d: v\n", i)
		}
		return b.String()
	}
	for name, c := range map[string]struct{ src, want string }{
		"a list":          {"placement: {target: [" + cpus + "]}\n", "5:21: placement.target: has 1001 entries; want at most 1000"},
		"a mapping":       {env(1001), "6:3: setup: has 1001 keys; want at most 1000"},
		"as many":         {env(1000), ""},
		"a long key":      {strings.Repeat("k", 300) + ": 1\n", "5:1: \"" + strings.Repeat("k", 60) + "\"…: unknown key; known here"},
		"a key that acts": {"\"a\\e[31mb\": 1\n", `5:1: "a\x1b[31mb": unknown key; known here`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := plan.Parse([]byte(minimal + c.src))
			if c.want == "" && err != nil ||
				c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
