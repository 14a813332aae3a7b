package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll/plan"
)

const addressesText = `{name: several, target: {driver: %s, %s},
workload: {behavior: poster}, bounded: {users: 2, measure: 10s}}`

func TestAddresses(t *testing.T) {
	digests := map[string]string{}
	for text, want := range map[string][]string{
		`url: "http://a:1"`:                    {"http://a:1"},
		`url: ["http://a:1"]`:                  {"http://a:1"},
		`url: ["http://a:1", "https://b/sub"]`: {"http://a:1", "https://b/sub"},
		`url: ["${ENV:A}", "${ENV:B}"], metrics_url: ["${ENV:A}/m", "http://b:2/m"]`: {"${ENV:A}", "${ENV:B}"},
		`url: ["http://a:1", "http://b:1"], metrics_url: /metrics`:                   {"http://a:1", "http://b:1"},
		`url: "HTTPS://Chat.Example.com"`:                                            {"HTTPS://Chat.Example.com"},
		`url: "http://[::1]:8065"`:                                                   {"http://[::1]:8065"},
		`url: "http://proxy", metrics_url: ["http://a:1/m", "http://b:1/m"]`:         {"http://proxy"},
	} {
		p, err := plan.Parse(fmt.Appendf(nil, addressesText, plan.External, text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if !slices.Equal(p.Target.URL, want) {
			t.Errorf("%s: %v", text, p.Target.URL)
		}
		plan.ReadAgain(t, p)
		digests[text] = p.Digest()
		if len(want) == 1 &&
			!strings.Contains(p.String(), "url: "+fmt.Sprintf("%q", want[0])+"\n") {
			t.Errorf("%s: one address is written as\n%s", text, p)
		}
	}
	if digests[`url: "http://a:1"`] != digests[`url: ["http://a:1"]`] {
		t.Error("one address and a list of one have different digests")
	}
}
