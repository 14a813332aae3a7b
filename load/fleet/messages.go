package fleet

import (
	"encoding/json"
	"errors"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/internal/plain"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
	"plimsoll/watch/series"
)

// A request to an agent has one purpose; all other fields are nil.
type request struct {
	Start   *Start          `json:"start,omitempty"`
	Users   *users          `json:"users,omitempty"`
	Storm   *workload.Storm `json:"storm,omitempty"`
	Collect *collect        `json:"collect,omitempty"`
	Stop    *stop           `json:"stop,omitempty"`
	Clock   *struct{}       `json:"clock,omitempty"` // the reply's instants alone; of [ServeHost]
}

// Start holds the settings with which an agent begins.
type Start struct {
	// Agent counts from 0, of Agents.
	Agent  int `json:"agent"`
	Agents int `json:"agents"`
	// Epoch of the run on the agent's wall clock.
	Epoch time.Time `json:"epoch"`
	// Host has the settings of [ServeHost]; nil for [Serve].
	Host *hostStart `json:"host,omitempty"`
	// Settings are the program's own, to build the engine from. They hold secrets of the agent's
	// users alone.
	Settings json.RawMessage `json:"settings,omitempty"`
}

// hostStart divides a host's users among processes: of Agents, the host has Agent, Agent+Hosts,
// Agent+2·Hosts and so on.
type hostStart struct {
	Hosts     int `json:"hosts"`
	Processes int `json:"processes"`
	// Settings are the settings of its processes, in their order.
	Settings []json.RawMessage `json:"settings"`
	Tick     time.Duration     `json:"tick"`  // between reports while the coordinator is silent
	Leave    time.Duration     `json:"leave"` // of silence, until the users leave
	Over     time.Duration     `json:"over"`  // in which they do
}

type users struct {
	N    int           `json:"n"`
	Over time.Duration `json:"over"`
}

// collect brings the messages of other agents' users, and requests a report.
type collect struct {
	Acked []message `json:"acked,omitempty"`
	// Mark ends a stretch at this offset from the epoch; 0: as before.
	Mark time.Duration `json:"mark,omitempty"`
	// Ends is the last mark that a host sets by itself; 0: each tick that it collects without a
	// request is one.
	Ends time.Duration `json:"ends,omitempty"`
	// Censor, if it is set, requests the ages of the operations under way.
	Censor *censor `json:"censor,omitempty"`
	// At is the tick that the report is of; 0 for one between two.
	At time.Duration `json:"at,omitempty"`
}

// censor takes ages at an offset from the epoch.
type censor struct {
	At      time.Duration `json:"at"`
	Timeout time.Duration `json:"timeout"`
}

type stop struct {
	Grace time.Duration `json:"grace"`
}

// A reply answers a request. With Error, the request was not carried out.
type reply struct {
	Error foreign `json:"error,omitempty"`
	// Received and Replied are instants of the agent's wall clock.
	Received time.Time `json:"received"`
	Replied  time.Time `json:"replied"`
	PID      int       `json:"pid,omitempty"`      // to a start
	Affected int       `json:"affected,omitempty"` // to a storm
	Report   *report   `json:"report,omitempty"`   // to a collect or stop
	Panic    *panicked `json:"panic,omitempty"`    // that the request ended in, with Error
	Lost     bool      `json:"lost,omitempty"`     // with Error: a process of the host is
	Parts    []part    `json:"parts,omitempty"`    // of a host: the reports of its processes
	PIDs     []int     `json:"pids,omitempty"`     // of a host, to a start
}

// part is the report of one process of a host.
type part struct {
	Process int           `json:"process"`
	At      time.Duration `json:"at,omitempty"` // the tick; 0 between two
	// Late is the lateness of the host with it, beyond the usual.
	Late   time.Duration `json:"late,omitempty"`
	Report *report       `json:"report"`
}

// panicked is a boundary.Panic of an agent.
type panicked struct {
	Where foreign `json:"where"`
	Value foreign `json:"value"`
	Stack foreign `json:"stack"`
}

// foreign is a text of another process, for people: of what it has sent, the first mostForeign
// bytes are read.
type foreign string

// mostForeign is more than an agent of this program sends: see mostErrorText, and the limits of a
// [boundary.Panic].
const mostForeign = 10 << 10

func (f *foreign) UnmarshalJSON(b []byte) error {
	var s string
	err := json.Unmarshal(b, &s)
	*f = foreign(plain.Cut(s, mostForeign))
	return err
}

// panicOf returns the panic that an error is; nil for others.
func panicOf(err error) *panicked {
	p, ok := errors.AsType[*boundary.Panic](err)
	if !ok {
		return nil
	}
	return &panicked{foreign(p.Where), foreign(p.Value), foreign(p.Stack)}
}

func (p *panicked) error() error {
	return &boundary.Panic{Where: string(p.Where), Value: string(p.Value), Stack: string(p.Stack)}
}

// A report holds an agent's records since the previous one; counts are since the start.
type report struct {
	Active int `json:"active"`
	Failed int `json:"failed"`
	// Open counts operations under way that were due before the mark.
	Open     int               `json:"open,omitempty"`
	Activity workload.Activity `json:"activity"`
	packs
	Tally    workload.Snapshot    `json:"tally,omitempty"`
	Messages workload.LedgerCount `json:"messages"`
	Acked    []message            `json:"acked,omitempty"`
	Deleted  [][2]string          `json:"deleted,omitempty"`
	Foreign  []string             `json:"foreign,omitempty"`
	Early    []workload.Early     `json:"early,omitempty"`
	Storms   []stormProgress      `json:"storms,omitempty"` // in the order of their beginning
	Samples  []series.Sample      `json:"samples,omitempty"`
	Stamps   wire.Clocks          `json:"stamps"`
	Refused  wire.Refusals        `json:"refused,omitzero"`
	// Held is the largest part of the agent's budget in use at once, in bytes.
	Held     int64         `json:"held,omitempty"`
	Errors   []userError   `json:"errors,omitempty"`
	Unsaid   int           `json:"unsaid,omitempty"`   // errors beyond those
	Lag      time.Duration `json:"lag,omitempty"`      // the longest of an operation
	Channels []string      `json:"channels,omitempty"` // that its ledger knows from now on
}

type stormProgress struct {
	Done   int           `json:"done"`
	Missed int           `json:"missed"`
	Took   time.Duration `json:"took"`
}

type userError struct {
	User int     `json:"user"`
	Text foreign `json:"text"`
	// Panic is set for one that is a panic.
	Panic *panicked `json:"panic,omitempty"`
}

// message is a workload.Message with offsets from the epoch.
type message struct {
	ID      string `json:"id"`
	Channel string `json:"channel"`
	Root    string `json:"root,omitempty"`
	Author  int    `json:"author"`
	Reader  string `json:"reader,omitempty"`
	// Pending is set for messages that no answer named, and Unanswered once an event has.
	Pending    string        `json:"pending,omitempty"`
	Unanswered bool          `json:"unanswered,omitempty"`
	Sent       time.Duration `json:"sent"`
	Acked      time.Duration `json:"acked"`
	// From and Within are workload.Message's. In a report 0 is the host that sent it, in a collect
	// the one that gets it.
	From   int           `json:"from,omitempty"`
	Within time.Duration `json:"within,omitempty"`
}

func packMessages(list []workload.Message, epoch time.Time) []message {
	out := make([]message, len(list))
	for i, m := range list {
		out[i] = message{m.ID, m.Channel, m.Root, m.Author, m.Reader, m.Pending, m.Unanswered,
			m.Sent.Sub(epoch), m.Acked.Sub(epoch), m.From, m.Within}
	}
	return out
}

func (m message) unpack(epoch time.Time) workload.Message {
	return workload.Message{
		ID:         m.ID,
		Channel:    m.Channel,
		Root:       m.Root,
		Author:     m.Author,
		Reader:     m.Reader,
		Pending:    m.Pending,
		Unanswered: m.Unanswered,
		Sent:       epoch.Add(m.Sent),
		Acked:      epoch.Add(m.Acked),
		From:       m.From,
		Within:     m.Within,
	}
}

// shift moves the instants by how much a clock is ahead at each, times sign.
func (m *message) shift(ahead func(at time.Duration) time.Duration, sign time.Duration) {
	m.Sent += sign * ahead(m.Sent)
	m.Acked += sign * ahead(m.Acked)
}
