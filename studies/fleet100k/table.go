package main

import (
	"fmt"
	"path/filepath"
	"time"

	"plimsoll/internal/files"
	"plimsoll/load/workload"
	"plimsoll/studies/study"
)

// A Try is what one try to hold users has shown. Times are seconds, but for lag in milliseconds.
type Try struct {
	Date     time.Time `json:"date"`
	Revision string    `json:"revision"`
	Machine  string    `json:"machine"`

	Users   int     `json:"users"` // wanted
	Agents  int     `json:"agents"`
	Servers int     `json:"servers"`
	Files   int     `json:"files"` // that one process may open
	Ramp    float64 `json:"ramp"`
	Push    float64 `json:"push"` // events per second and WebSocket

	Prepared float64 `json:"prepared"` // how long the accounts took
	Joined   float64 `json:"joined"`   // how long the agents took to take them in
	Held     int     `json:"held"`     // users that acted at the end of the hold
	Failed   int     `json:"failed"`   // users that gave up
	Seconds  float64 `json:"seconds"`  // of the hold
	Sockets  int     `json:"websockets"`
	MostOpen int     `json:"most_open"` // files of the agent or server that has most

	Operations     uint64  `json:"operations"` // in the hold
	Errors         uint64  `json:"errors"`
	Complaints     int     `json:"complaints"` // of users, since they began
	FirstComplaint string  `json:"first_complaint,omitempty"`
	LagP99         float64 `json:"lag_p99_ms"` // of the worst agent
	LagMax         float64 `json:"lag_max_ms"`

	AgentCores  float64 `json:"agent_cores"` // in use, all agents together
	ServerCores float64 `json:"server_cores"`
	LeaderCores float64 `json:"leader_cores"`
	Cores       float64 `json:"cores"` // of the machine, the kernel's own work included

	AgentKiB  float64 `json:"agent_kib"` // resident per user
	ServerKiB float64 `json:"server_kib"`
	// by which the machine has less to give, the kernel's own included
	MemoryMiB float64 `json:"memory_mib"`

	FromAgents float64 `json:"from_agents"` // bytes per second of the fleet's own
	ToAgents   float64 `json:"to_agents"`

	// The ledgers of both sides: messages accepted, by servers and users; events pushed and read.
	Posted   int64                `json:"posted"`
	Ledger   workload.LedgerCount `json:"ledger"`
	Pushed   int64                `json:"pushed"`
	Received int64                `json:"received"`

	Stopped string `json:"stopped,omitempty"` // what stopped it
}

func (s *task) row() Try {
	return Try{
		Date:     time.Now().UTC().Truncate(time.Second),
		Revision: study.Revision(),
		Machine:  study.Machine(),
		Users:    s.users,
		Agents:   s.agents,
		Servers:  s.servers,
		Files:    s.files,
		Ramp:     s.ramp.Seconds(),
		Push:     s.push,
	}
}

// measure takes in what the hold has used.
func (t *Try) measure(from, to usage, took time.Duration) {
	s := took.Seconds()
	t.AgentCores = (to.agents - from.agents) / s
	t.ServerCores = (to.servers - from.servers) / s
	t.LeaderCores = (to.own - from.own) / s
	t.Cores = (to.machine - from.machine) / s
	t.AgentKiB = to.agentsMiB * 1024 / float64(t.Users)
	t.ServerKiB = to.serversMiB * 1024 / float64(t.Users)
	t.FromAgents, t.ToAgents = float64(to.bytes-from.bytes)/s, float64(to.mail-from.mail)/s
	t.MostOpen = to.openFiles
}

// mostLag is the lag at p99 that a run may have: more voids it (docs/validity.md).
const mostLag = 50.0

// check returns the first reason why the users were not held; nil if they were. Deliveries that are
// lost are no such reason: null servers deliver no message to anyone.
func (t *Try) check() error {
	l := t.Ledger
	switch {
	case t.Held < t.Users || t.Failed > 0:
		return fmt.Errorf(
			"%d of %d users were there at the end, %d had given up: %s",
			t.Held,
			t.Users,
			t.Failed,
			t.FirstComplaint,
		)
	case t.Sockets != t.Users:
		return fmt.Errorf("the servers had %d WebSockets open, and not %d", t.Sockets, t.Users)
	case t.Errors > 0:
		return fmt.Errorf(
			"%d of %d operations failed: %s",
			t.Errors,
			t.Operations,
			t.FirstComplaint,
		)
	case t.LagP99 > mostLag:
		return fmt.Errorf(
			"lag at p99 was %.0f ms in the worst agent, and %.0f are allowed",
			t.LagP99,
			mostLag,
		)
	case t.InLedger() != t.Posted || l.Late+l.Duplicated+l.Misordered+l.Repeated+l.Unanswered != 0:
		return fmt.Errorf("the servers accepted %d messages, and the ledger has %+v", t.Posted, l)
	case t.Received < t.Pushed:
		return fmt.Errorf(
			"the servers pushed %d events, and the users read %d",
			t.Pushed,
			t.Received,
		)
	}
	return nil
}

// The results: a line for each try, and the page with their table.
const (
	dataFile  = "fleet-100k.jsonl"
	page      = "fleet-100k.md"
	tablePart = "table of make fleet-100k"
)

// write writes the page's table anew.
func write(results string) error {
	all, err := files.ReadJSONLines[Try](filepath.Join(results, dataFile))
	if err != nil {
		return err
	}
	return study.Insert(filepath.Join(results, page), tablePart, table(all))
}

const tableText = `| date | users | begun over | held | for | agents, servers | sockets | operations | errors | lag p99, max of the worst agent | cores: agents | servers | machine | KiB per user: agents | servers | machine | fleet's bytes/s: from, to agents | messages: servers, ledger | events: pushed, read | |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|
{{range . -}}
| {{date .Date}} | {{.Users}} | {{printf "%.0f s" .Ramp}} | {{.Held}} | {{printf "%.0f s" .Seconds}} | {{.Agents}}, {{.Servers}} | {{.Open}} | {{.Operations}} | {{.Errors}} | {{printf "%.1f, %.0f ms" .LagP99 .LagMax}} | {{printf "%.2f | %.2f | %.2f" .AgentCores .ServerCores .Cores}} | {{printf "%.1f | %.1f | %.1f" .AgentKiB .ServerKiB .MachineKiB}} | {{printf "%.0f, %.0f" .FromAgents .ToAgents}} | {{.Posted}}, {{.InLedger}} | {{.Pushed}}, {{.Received}} | {{if .Stopped}}NOT HELD: {{cell .Stopped}}{{else}}held, ledger exact{{end}} |
{{end}}`

// Open is how many sockets the users had.
func (t Try) Open() int { return perUser * t.Sockets }

// MachineKiB is the memory that the machine has less for each user.
func (t Try) MachineKiB() float64 { return t.MemoryMiB * 1024 / float64(t.Users) }

// InLedger is how many messages the users' ledger has.
func (t Try) InLedger() int64 { return t.Ledger.Acked + t.Ledger.Unnamed }

// table is the tries in Markdown, in the order in which they were made.
func table(all []Try) string { return study.Render(tableText, nil, all) }
