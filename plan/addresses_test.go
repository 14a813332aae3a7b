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
		again, err := plan.Parse([]byte(p.String()))
		if err != nil || again.Digest() != p.Digest() {
			t.Errorf("%s: read again: %v, from\n%s", text, err, p)
		}
		digests[text] = p.Digest()
		if len(want) == 1 && !strings.Contains(p.String(), "url: "+fmt.Sprintf("%q", want[0])+"\n") {
			t.Errorf("%s: one address is written as\n%s", text, p)
		}
	}
	if digests[`url: "http://a:1"`] != digests[`url: ["http://a:1"]`] {
		t.Error("one address and a list of one have different digests")
	}
}

func TestBadAddresses(t *testing.T) {
	for _, tt := range []struct{ driver, text, want string }{
		{plan.External, `url: []`, "target.url: is an empty list"},
		{plan.External, `url: ["http://a:1", localhost]`, `target.url[1]: "localhost" is not an address of a server`},
		{"chat", `ca: own.pem`, "target.ca: has no effect, because the driver chat"},
		{"chat", `http: h2`, "target.http: has no effect, because the driver chat"},
		{plan.External, `url: "https://a", http: h3`, `target.http: "h3" is not a known protocol; did you mean "h2"?`},
		{plan.External, `url: ["https://a", "http://b"], http: h2`, `target.url: "http://b" is http, and HTTP/2 is agreed over TLS`},
		{plan.External, `url: "http://::1:8065"`, `target.url: "http://::1:8065" has an IPv6 address without brackets`},
		{plan.External, `url: "https://b/sub/api/v4/"`, `ends in the path of the API; write the server's own address: https://b/sub`},
		{plan.External, `url: "https://b/sub/api/v4/system/ping"`, `write the server's own address: https://b/sub`},
		{plan.External, `url: "http://b:0"`, `"http://b:0" has the port 0; want one from 1 to 65535`},
		{plan.External, `url: "http://b:65536"`, `has the port 65536`},
		{plan.External, `url: "http://b:80a"`, `is not an address of a server`},
		{plan.External, `url: "http://[::1"`, `is not an address of a server`},
		{plan.External, `url: "http://[fe80::1%eth0]:80"`, `is not an address of a server`},
		{plan.External, `url: "http://b/%zz"`, `is not an address of a server`},
		{plan.External, `url: 'http://b\sub'`, `is not an address of a server`},
		{plan.External, `url: "http://a:1,b:1"`, `is not an address of a server`},
		{plan.External, `url: ["http://a:1", "http://a:1"]`, "target.url[1]: \"http://a:1\" is there twice"},
		{plan.External, `url: ["http://a:1", "http://u:SECRET@b"]`, "target.url[1]: holds a password"},
		{plan.External, `url: ["http://a:1", "http://b:1"], metrics_url: ["http://a:2/m"]`, "target.metrics_url: has 1 for the 2 addresses"},
		{plan.External, `url: ["http://a:1", "http://b:1", "http://c:1"], metrics_url: [/m, /n]`, "target.metrics_url: has 2 for the 3 addresses"},
		{plan.External, `url: ["http://a:1", "http://b:1"], metrics_url: "http://a:2/m?of=all"`, "target.metrics_url: has 1 for the 2 addresses"},
		{"chat", `instances: 2, metrics_url: "http://127.0.0.1:80/m"`, "target.metrics_url: is the one page of metrics of all 2 servers"},
		{"chat", `instances: 2, metrics_url: "${ENV:M}"`, "target.metrics_url: is the one page of metrics of all 2 servers"},
		{"chat", `url: ["http://a:1", "http://b:1"]`, "target.url: is a list, and the driver chat starts its servers itself"},
		{"chat", `instances: 2, url: "http://127.0.0.1:80"`, "target.url: is the address of each of the 2 servers; write http://127.0.0.1:${PORT}"},
	} {
		_, err := plan.Parse(fmt.Appendf(nil, addressesText, tt.driver, tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v, want %q", tt.text, err, tt.want)
		}
	}
}
