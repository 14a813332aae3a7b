package evidence

import (
	"encoding/json"
	"testing"

	"plimsoll/record"
)

// The Setup table has the values that are the same in all arms, and invents none.
func TestSetupRows(t *testing.T) {
	made := func(target string, processes int, cores ...int) record.Manifest {
		return record.Manifest{
			Tool:      "devel",
			Target:    json.RawMessage(target),
			Processes: processes,
			Generator: cores,
		}
	}
	row := func(rows []record.Row, name string) string {
		for _, r := range rows {
			if r.Name == name {
				return r.Value
			}
		}
		return "(none)"
	}
	base := made(`{"driver":"refchat","command":["/x/plimsoll","refchat"]}`, 0)
	fresh := made(`{"driver":"refchat","command":["/x/plimsoll","refchat","-fault=cpu:100%"]}`, 0)
	for _, tt := range []struct {
		runs              []record.Manifest
		app, agent, proxy string
	}{
		{[]record.Manifest{base, base}, "1 × refchat (plimsoll refchat)", "1 (this process)", "none"},
		{[]record.Manifest{base, fresh}, "1 × refchat", "1 (this process)", "none"},
		{[]record.Manifest{made(`{"driver":"external","instances":1,"urls":["https://chat"]}`, 4, 0, 1)}, "external at https://chat", "4 (processes of one host, on cores 0,1)", "(none)"},
		{[]record.Manifest{made(`{"driver":"external","version":"11.0","instances":2,"urls":["http://a","http://b"]}`, 0)}, "2 × external 11.0 at http://a, http://b", "1 (this process)", "(none)"},
		{[]record.Manifest{made(`{"driver":"refchat","instances":2,"urls":["http://p"],"companions":{"proxy":{"name":"nginx","version":"1.22.1"}}}`, 0)}, "2 × refchat", "1 (this process)", "1 × nginx 1.22.1"},
		{[]record.Manifest{made(`{"driver":"process","instances":1,"command":["haproxy"]}`, 0)}, "1 × process (haproxy)", "1 (this process)", "(none)"},
		{[]record.Manifest{made(`{"driver":"refchat","instances":2}`, 0), made(`{"driver":"refchat","instances":1}`, 0)}, "(none)", "1 (this process)", "none"},
		{[]record.Manifest{made("", 0)}, "(none)", "1 (this process)", "(none)"},
	} {
		rows := Setup(tt.runs...)
		if got := row(rows, "App instances"); got != tt.app {
			t.Errorf("app: %q, want %q", got, tt.app)
		}
		if got := row(rows, "Agent instances"); got != tt.agent {
			t.Errorf("agent: %q, want %q", got, tt.agent)
		}
		if got := row(rows, "Proxy instance"); got != tt.proxy {
			t.Errorf("proxy: %q, want %q", got, tt.proxy)
		}
	}
	of := func(ratings ...int) record.Manifest {
		return record.Manifest{
			Tool:      "devel",
			Processes: 4,
			Agents:    []string{"a", "b"},
			Ratings:   ratings,
		}
	}
	for want, runs := range map[string][]record.Manifest{
		"2 (4 processes on the hosts a, b; users divided equally)":                                            {of()},
		"2 (4 processes on the hosts a, b; users divided by the hosts' ratings, 9000 : 3000)":                 {of(9000, 3000), of(9000, 3000)},
		"2 (4 processes on the hosts a, b; users divided by the hosts' ratings, 9000 : 3100 in the last run)": {of(9000, 3000), of(9000, 3100)},
	} {
		if got := row(Setup(runs...), "Agent instances"); got != want {
			t.Errorf("agents: %q, want %q", got, want)
		}
	}
	seen := Setup(
		made(
			`{"driver":"external","urls":["http://p"],"settings":{"seen":"metrics of 2 servers; proxy-0 nginx/1.22.1"}}`,
			0,
		),
	)
	if got := row(seen, "Seen by probes"); got != "metrics of 2 servers; proxy-0 nginx/1.22.1" {
		t.Errorf("seen: %q", got)
	}
	if rows := Setup(); len(rows) != 0 {
		t.Errorf("of nothing: %v", rows)
	}
}

// The hosts of the roles have a row, with all their addresses: arms that are up at once have some
// each.
func TestHostsRow(t *testing.T) {
	of := func(target string) record.Manifest {
		return record.Manifest{Target: json.RawMessage(target)}
	}
	base := of(
		`{"driver":"refchat","hosts":[{"name":"app-0","addr":"198.18.0.11"},{"name":"db-0","addr":"198.18.0.12"}]}`,
	)
	fresh := of(
		`{"driver":"refchat","hosts":[{"name":"app-0","addr":"198.18.4.11"},{"name":"db-0","addr":"198.18.4.12"}],"links":"db rate 1Gbit/s"}`,
	)
	for want, runs := range map[string][]record.Manifest{
		"": {of(`{"driver":"refchat"}`)},
		"network namespaces of one host: app-0 198.18.0.11, db-0 198.18.0.12; links without limits":                                   {base, base},
		"network namespaces of one host: app-0 198.18.0.11 or 198.18.4.11, db-0 198.18.0.12 or 198.18.4.12; links of db rate 1Gbit/s": {base, fresh},
	} {
		got := ""
		for _, r := range Setup(runs...) {
			if r.Name == "Hosts of the roles" {
				got = r.Value
			}
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
