package sharedhost

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"plimsoll/plan"
)

// planOfArms is a plan of arms at two addresses, with keys of the comparison.
func planOfArms(t *testing.T, base, fresh, keys string) *plan.Plan {
	t.Helper()
	p, err := plan.Known{Drivers: []string{plan.External}}.Parse(fmt.Appendf(nil, `name: n
target: {driver: external}
workload: {behavior: poster}
bounded: {users: 5}
compare: {arms: {base: {url: %q}, new: {url: %q}}%s}
`, base, fresh, keys))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// names is a resolver of two aliases of one host, and another host.
func names(host string) ([]netip.Addr, error) {
	at := map[string]string{"blue.example": "10.9.8.7", "alias.example": "10.9.8.7",
		"green.example": "10.9.8.6"}[host]
	if at == "" {
		return nil, errors.New("no such host")
	}
	return []netip.Addr{netip.MustParseAddr(at)}, nil
}

// Aliases of one server are told from two servers by what they lead to, and a name that leads
// nowhere is named.
func TestAliasesOfOneServer(t *testing.T) {
	for _, tt := range []struct{ base, fresh, host, server string }{
		{"http://blue.example", "http://green.example", "", ""},
		{"http://blue.example", "http://alias.example", "are both on 10.9.8.7",
			"base and new both lead to 10.9.8.7:80:"},
		{"http://blue.example:8065", "http://10.9.8.7:8065", "are both on 10.9.8.7",
			"both lead to 10.9.8.7:8065:"},
		{"http://blue.example:1", "http://alias.example:2", "are both on 10.9.8.7", ""},
		{"https://blue.example", "https://alias.example:443", "are both on 10.9.8.7",
			"both lead to 10.9.8.7:443:"},
		{"http://127.0.0.1:1", "http://localhost:1", "are both on this host",
			"both lead to 127.0.0.1:1:"},
		{"http://blue.example", "http://gone.example", "is not known, because gone.example, of new, " +
			"could not be looked up: no such host", ""},
	} {
		p := planOfArms(t, tt.base, tt.fresh, ", mode: duet")
		for text, want := range map[string]string{OneHost(p, names): tt.host,
			OneServer(p, p, names): tt.server} {
			if !strings.Contains(text, want) ||
				(text == "") != (want == "") && tt.host != tt.server {
				t.Errorf("%s and %s: %q, want %q", tt.base, tt.fresh, text, want)
			}
		}
	}
	same := planOfArms(t, "http://blue.example", "http://blue.example", ", mode: sequence")
	if text := OneServer(same, same, names); text != "" {
		t.Errorf("one address for a build and itself: %s", text)
	}
}
