package script

import (
	"fmt"
	"testing"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

func TestOperationNames(t *testing.T) {
	t.Parallel()
	s := newSeries(measure.NewRegistry(1), "", nil)
	var scratch []byte
	for _, tt := range []struct{ tag, method, path, want string }{
		{"", "GET", "/", "GET /"},
		{"", "GET", "/api/v4/users/me?x=1", "GET /api/v4/users/me"},
		{"", "POST", "/posts/17/likes", "POST /posts/{id}/likes"},
		{"", "GET", "/commit/0123abcd", "GET /commit/{id}"},
		{"", "GET", "/a/deadbee", "GET /a/deadbee"},
		{"", "GET", "/u/3F2504E0-4F89-11D3-9A0C-0305E82C3301", "GET /u/{id}"},
		{"", "GET", "/c/y9qx3h7cbjf5mcq1tx8ow6n4rr/posts", "GET /c/{id}/posts"},
		{"", "GET", "/a/internationalization", "GET /a/internationalization"},
		{"", "GET", "/a/some-long-name-with-1-digit", "GET /a/some-long-name-with-1-digit"},
		{"", "GET", "//17", "GET //{id}"},
		{"read", "GET", "/17", "read"},
		{"login", "POST", "/login", "op login"},
		{"setup x", "POST", "/", "op setup x"},
		{"delivery", "POST", "/", "op delivery"},
		{"check it", "POST", "/", "op check it"},
		{"late:x", "POST", "/", "op late:x"},
		{"a\nb", "POST", "/", `a\nb`},
	} {
		n := s.op(&scratch, tt.tag, tt.method, tt.path)
		if want := s.reg.Name(tt.want); n.Name != want || n.text != tt.want {
			t.Errorf("%s %s %s is not in the series %q", tt.tag, tt.method, tt.path, tt.want)
		}
		if !workload.Steady(tt.want) {
			t.Errorf("%q is not of the steady state", tt.want)
		}
	}
}

// TestNamesAreBounded: a script that puts chance into its names makes no more series than fit.
func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	s := newSeries(measure.NewRegistry(1), "", nil)
	var scratch []byte
	seen := map[measure.Name]bool{}
	for i := range 1000 {
		seen[s.op(&scratch, fmt.Sprint("tag", i), "GET", "/").Name] = true
		seen[s.check(fmt.Sprint(i))] = true
		seen[s.group(fmt.Sprint(i))] = true
	}
	if want := 3 * (mostNames + 1); len(seen) != want {
		t.Errorf("%d series, want %d", len(seen), want)
	}
	if !seen[s.reg.Name(otherName)] || !seen[s.reg.Name("check other")] {
		t.Error("what is beyond has no series of its own")
	}
}
