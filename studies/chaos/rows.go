package main

import (
	_ "embed"
	"slices"
	"strings"
	"time"
)

// The exit statuses of plimsoll that a row may expect, as the design and the verbs' pages have
// them.
const (
	done    = 0 // the fault is one that a client must live with
	failed  = 1 // the tool could not begin: nothing follows about the target
	refused = 2 // nor could it, and its preflight has seen why
	unclear = 4 // one block, of which nothing follows
	invalid = 5 // the run is not valid, or a proof FAILED
	broken  = 6 // a rule did not hold, or acknowledged messages are gone
)

// A row is a mode in a phase, and the expected outcome.
type row struct {
	verb   verb
	phase  phase
	load   load
	server string // the reference server behind the proxy: refnull, refchat or newsfeed
	mode   *mode
	// classes are those in which operations may end, and of which at least one must occur; none
	// means that no operation fails. A row whose operations are not seen (before the ramp there is
	// no run) finds the class in the error's text.
	classes []string
	// some further classes may occur, and need not.
	further  []string
	statuses []int // that are right; more than one where a rule and a finding both are
	anyClass bool  // no class is expected of it: there was no operation
	wait     bool  // it only waits for deadlines, and takes no core
	users    int
}

// A verb is the command of a row.
type verb string

// The verbs. The zero value is run, or `target verify` for the load proofs.
const (
	capacity verb = "capacity" // a search for the users that the target carries
	// One block of two arms, both of which are the server behind the proxy: the fault strikes in
	// the first run.
	compare verb = "compare"
)

// name is PHASE/MODE, with the server or load where it is not the usual one.
func (r row) name() string {
	n := string(r.phase) + "/" + r.mode.name
	switch {
	case r.verb == capacity || r.verb == compare:
		return string(r.verb) + "-" + n
	case r.load == feed:
		return "feed-" + n
	case r.load == persons && r.phase != logins:
		return "ws-" + n
	case r.server == refchatServer && r.load == posters:
		return "refchat-" + n
	}
	return n
}

func (r row) statusText() string {
	var out []string
	for _, s := range r.statuses {
		out = append(out, string(rune('0'+s)))
	}
	return strings.Join(out, " or ")
}

func (r row) classText() string {
	switch {
	case r.anyClass:
		return "-"
	case len(r.classes) == 0:
		return "none"
	}
	return strings.Join(r.classes, " or ")
}

// The servers behind the proxy.
const (
	refnullServer = "refnull"
	refchatServer = "refchat"
	// The people of a verification are the same in all: one that must go well has a server of its
	// own.
	refchatAlone   = "refchat alone"
	newsfeedServer = "newsfeed"
)

// right holds the expected classes of a mode in every phase, in the order of an operation's parts
// (load/wire/error.go), and "timeout" where the time was over.
var right = byMode([]struct{ classes, modes string }{
	{"", "slow lying-invented ws-trickle"},
	{"timeout", `
		late drip drip-header frozen frozen-body frozen-accept tls-stall tls-half upgrade-silent
		upgrade-frozen`},
	{"body", `
		endless-body endless-chunks endless-extension endless-trailer truncated-body
		truncated-chunks truncated-gzip lying-chunk-size bomb-gzip bomb-gzip-garbage bomb-json
		reset-body`},
	{"body timeout", "endless-tiny-chunks"},
	{"header", `
		endless-header endless-100 truncated-header lying-lengths lying-negative lying-overflow
		lying-ssh lying-status echo-header bomb-field bomb-fields`},
	{"decode", `
		lying-empty lying-object lying-ok lying-created lying-null lying-array lying-types
		lying-html lying-ids lying-short lying-204 empty-lists redirect-host redirect-keep
		redirect-loop redirect-file echo-body echo-raw echo-redirect`},
	{"5xx", `
		failing-500 failing-503 echo-id echo-taunt echo-spelled echo-reason upgrade-500`},
	{"4xx", `
		shedding-429 challenging-403 unauthorized-401 missing-404 echo-cut echo-403 echo-page
		echo-upgrade upgrade-403`},
	{"ws", `
		echo-close echo-event upgrade-accept upgrade-200 upgrade-redirect upgrade-extension
		upgrade-endless upgrade-closed`},
	{"decode body", "bomb-deep bomb-deep-objects bomb-keys bomb-text bomb-padding"},
	{"header write", "reset closed"},
	{"header write dial", "reset-accept"},
	{"tls", `
		tls-expired tls-name tls-taunt tls-unknown tls-cut tls-plain tls-alert`},
})

// byMode returns the classes of each mode.
func byMode(groups []struct{ classes, modes string }) map[string][]string {
	by := map[string][]string{}
	for _, g := range groups {
		for m := range strings.FieldsSeq(g.modes) {
			by[m] = strings.Fields(g.classes)
		}
	}
	return by
}

// rightFor returns the classes of a mode. Abuses of open WebSockets are all of class ws.
func rightFor(m *mode) []string {
	if strings.HasPrefix(m.name, "mutated-") {
		return []string{"decode"}
	}
	if c, ok := right[m.name]; ok {
		return c
	}
	return []string{"ws"}
}

// waiting are the modes of whose time nearly all is waiting.
var waiting = strings.Fields(`
	slow late drip drip-header frozen frozen-body frozen-accept tls-stall tls-half
	upgrade-silent upgrade-frozen ws-trickle`)

// rows is the table of rows.txt. Every status stands here before anything runs:
//
//   - A command that cannot begin has failed (1), or is refused by its preflight (2): the target is not ready, cannot be
//     logged in to, or cannot be provisioned.
//   - A run whose users never succeeded in anything is not valid (5): nothing was carried. So are a run that could
//     not read back acknowledged messages, or whose messages were acknowledged without an id, and a verification of
//     which a proof FAILED.
//   - A run that went well until operations began to fail has broken a rule about errors (6), as has one whose
//     acknowledged messages are gone.
//   - A fault that a client must tolerate ends with 0: an answer that is a little late, a message that no account may
//     read back.
func rows() (all []row) {
	by := map[string]*mode{}
	for _, m := range modes() {
		by[m.name] = m
	}
	for i := range mutations {
		m := mutated(uint64(i + 1))
		by[m.name] = m
	}
	var of row
	for line := range strings.Lines(rowsText) {
		line, _, _ = strings.Cut(line, "#")
		head, names, ok := strings.Cut(line, ":")
		if ok {
			of = rowOf(strings.Fields(head))
		} else {
			names = line
		}
		for n := range strings.FieldsSeq(names) {
			if by[n] == nil {
				panic("rows.txt: no mode " + n) // chaos_test.go builds the table
			}
			all = append(all, of.with(by[n]))
		}
	}
	return all
}

//go:embed rows.txt
var rowsText string

// The commands and exit statuses by their words in the table.
var (
	commands = map[string]row{
		"poster":   {load: posters, server: refnullServer, users: 20},
		"refchat":  {load: posters, server: refchatServer, users: 20},
		"capacity": {load: posters, server: refnullServer, users: 20, verb: capacity},
		"compare":  {load: posters, server: refnullServer, users: 20, verb: compare},
		"person":   {load: persons, server: refnullServer, users: 3},
		"verify":   {load: proofs, server: refchatServer},
		"alone":    {load: proofs, server: refchatAlone},
		"feed":     {load: feed, server: newsfeedServer, users: 3},
	}
	statuses = map[string]int{
		"done": done, "failed": failed, "refused": refused,
		"unclear": unclear, "invalid": invalid, "broken": broken,
	}
)

// rowOf reads the words of the table before its modes.
func rowOf(words []string) row {
	r := commands[words[0]]
	r.phase = phase(words[1])
	for s := range strings.SplitSeq(words[2], "|") {
		r.statuses = append(r.statuses, statuses[s])
	}
	for _, w := range words[3:] {
		switch w {
		case "any":
			r.anyClass = true
		case "none":
			r.classes = []string{}
		default:
			r.further = append(r.further, w[1:])
		}
	}
	return r
}

// with is the row of a mode.
func (r row) with(m *mode) row {
	r.mode, r.further = m, slices.Clone(r.further)
	if r.classes == nil && !r.anyClass {
		r.classes = rightFor(m)
	}
	// the connections that were open end within requests
	if m.conn != nil || m.cert != "" {
		r.further = append(r.further, "header", "write", "body")
	}
	if strings.HasPrefix(m.name, "tls-") { // or within their handshakes
		r.further = append(r.further, "tls")
	}
	// The client uses the mutated values, and requests objects that do not exist.
	if strings.HasPrefix(m.name, "mutated-") {
		r.further = append(r.further, "4xx")
	}
	// Or it waits for the audit's minute.
	r.wait = slices.Contains(waiting, m.name) || r.phase == audit && m.name == "frozen"
	return r
}

// limit is the time after which a row is ended and has failed: no hang. It is not a bound on speed.
func (r row) limit() time.Duration {
	if r.wait {
		return 3 * time.Minute
	}
	return 90 * time.Second
}
