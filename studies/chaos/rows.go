package main

import (
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

// rows is the table. Every status stands here before anything runs:
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
func rows() []row {
	by := map[string]*mode{}
	for _, m := range modes() {
		by[m.name] = m
	}
	for i := range mutations {
		m := mutated(uint64(i + 1))
		by[m.name] = m
	}
	var all []row
	add := func(base row, names string) {
		for n := range strings.FieldsSeq(names) {
			r := base
			if r.mode = by[n]; r.mode == nil {
				panic("no mode " + n) // chaos_test.go builds the table
			}
			if r.classes == nil && !r.anyClass {
				r.classes = rightFor(r.mode)
			}
			// the connections that were open end within requests
			if r.mode.conn != nil || r.mode.cert != "" {
				r.further = append(slices.Clone(r.further), "header", "write", "body")
			}
			if strings.HasPrefix(n, "tls-") { // or within their handshakes
				r.further = append(r.further, "tls")
			}
			// The client uses the mutated values, and requests objects that do not exist.
			if strings.HasPrefix(n, "mutated-") {
				r.further = append(slices.Clone(r.further), "4xx")
			}
			r.wait = slices.Contains(waiting, n)
			all = append(all, r)
		}
	}
	poster := row{load: posters, server: refnullServer, users: 20}
	with := func(p phase, statuses ...int) row {
		r := poster
		r.phase, r.statuses = p, statuses
		return r
	}

	r := with(ready, failed, refused)
	r.anyClass = true
	add(r, "frozen redirect-host echo-reason echo-header reset tls-taunt tls-stall")

	add(with(provision, done), "slow")
	add(with(provision, failed, refused), `
		frozen drip endless-body endless-header endless-100 truncated-body lying-empty lying-ok
		lying-html lying-types bomb-gzip bomb-json bomb-deep redirect-host redirect-keep
		redirect-loop failing-503 challenging-403 reset echo-id echo-taunt echo-spelled echo-cut
		echo-reason echo-header echo-body echo-raw echo-page echo-redirect`)
	add(with(lists, failed, refused), `
		frozen lying-ok lying-types bomb-json bomb-deep bomb-keys mutated-1 mutated-2 echo-id
		echo-body`)

	r = with(lists, failed, refused)
	r.anyClass = true // each answer is right
	add(r, "endless-pages")

	r = with(logins, invalid)
	r.load, r.users = persons, 3
	add(r, `
		frozen lying-ok failing-500 redirect-keep bomb-gzip echo-id echo-body echo-spelled echo-cut`)

	add(with(ramp, done), "slow")
	add(with(ramp, invalid), `
		frozen late drip-header endless-chunks lying-created failing-500 shedding-429 redirect-loop
		reset reset-accept bomb-gzip tls-expired tls-stall tls-cut`)

	add(with(measured, done), "slow")
	add(with(measured, broken), `
		late drip drip-header frozen frozen-body frozen-accept endless-body endless-chunks
		endless-tiny-chunks endless-extension endless-trailer endless-header endless-100
		truncated-header truncated-body truncated-chunks truncated-gzip lying-lengths lying-negative
		lying-overflow lying-chunk-size lying-ssh lying-status failing-500 shedding-429
		challenging-403 unauthorized-401 redirect-host redirect-keep redirect-loop redirect-file
		echo-id echo-taunt echo-cut echo-spelled echo-403 echo-reason echo-header echo-page
		echo-redirect bomb-gzip bomb-gzip-garbage bomb-json bomb-field bomb-fields reset reset-body
		closed reset-accept tls-expired tls-name tls-taunt tls-unknown tls-stall tls-half tls-cut
		tls-plain tls-alert`)
	// A message that was accepted (2xx) by an answer without its id cannot be read back: whether
	// the target kept it is not known, and the run is not valid under any rules.
	add(with(measured, invalid), `
		lying-empty lying-object lying-ok lying-created lying-null lying-array lying-types
		lying-html lying-ids lying-204 echo-body echo-raw mutated-1 mutated-2 mutated-3 mutated-4`)
	r = with(measured, invalid)
	// the rest on the connection is not an answer to the next request
	r.further = []string{"header", "body"}
	add(r, "lying-short")
	// 5 where it was read, 6 where it is beyond a limit.
	add(with(measured, invalid, broken), `
		bomb-deep bomb-deep-objects bomb-keys bomb-text bomb-padding`)

	add(with(audit, done), "slow echo-403")
	add(with(audit, invalid), `
		frozen endless-chunks truncated-body lying-ok lying-html failing-500 redirect-host bomb-json
		bomb-deep echo-id echo-taunt reset`)
	add(with(audit, broken), "missing-404")
	r = with(measured, broken)
	// The audit asks for each message by itself, which is not there.
	r.server, r.further = refchatServer, []string{"4xx"}
	add(r, "lying-invented")

	// The page of metrics is not an operation. A run may go on without it, or is not valid when it
	// was missing for long.
	r = with(scrape, done, refused, invalid)
	r.anyClass = true
	add(r, `
		frozen endless-body bomb-series bomb-labels bomb-fields lying-html redirect-host echo-raw
		truncated-body`)

	// People with WebSockets. A socket that breaks is an operation of class ws; whether users that
	// reconnect all the time count as no users (5) or users of a broken rule (6) is the rules'
	// choice. It is never 0.
	r = with(ramp, invalid)
	r.load, r.users = persons, 3
	add(r, `
		upgrade-accept upgrade-200 upgrade-403 upgrade-500 upgrade-redirect upgrade-extension
		upgrade-silent upgrade-frozen upgrade-endless upgrade-closed echo-upgrade`)
	r.statuses = []int{invalid, broken}
	r.further = []string{"timeout"} // a request over a socket that is lost waits for its reply
	add(r, `
		ws-large ws-fragments ws-fragments-empty ws-pings ws-masked ws-length ws-close-storm
		ws-reset ws-deep echo-close echo-event`)
	r.phase = measured
	add(r, `
		ws-large ws-fragments ws-fragments-empty ws-pings ws-pongs ws-masked ws-opcode ws-reserved
		ws-ping-long ws-ping-part ws-length ws-length-negative ws-continuation ws-garbage ws-no-json
		ws-deep ws-types ws-close-storm ws-reset ws-close-code echo-close echo-event`)
	r.further = []string{"timeout", "decode"} // users act on the contents of the events
	add(r, "ws-post")
	// Many events are a load that a client may or may not carry: its end and its memory count.
	r.anyClass, r.statuses = true, []int{done, invalid, broken}
	add(r, "ws-large-many ws-trickle")
	r.anyClass = false

	// A search, whose users end where the fault begins.
	r = with(provision, failed, refused)
	r.verb = capacity
	add(r, "echo-id lying-ok")
	r = with(ramp, invalid)
	r.verb = capacity
	add(r, "failing-500 bomb-json echo-id lying-ok")
	r.anyClass = true // it gives up before an operation has
	add(r, "frozen")

	// A comparison of one block. A run that the target made invalid leaves no pair: the comparison
	// is invalid. One that broke a rule counts, and one pair shows nothing; but where few
	// operations succeeded, an endpoint may have no number, and then no pair.
	r = with(provision, failed, refused)
	r.verb = compare
	add(r, "echo-id failing-503")
	r = with(measured, unclear)
	r.verb = compare
	add(r, "slow")
	r.statuses = []int{unclear, invalid}
	add(r, "frozen failing-500 echo-id bomb-gzip")
	r = with(ramp, invalid)
	r.verb = compare
	add(r, "failing-500 echo-id")
	r = with(measured, invalid)
	r.verb = compare
	add(r, "lying-ok echo-body")

	// `target verify` on the reference chat server.
	r = row{phase: verifySetup, load: proofs, server: refchatServer, statuses: []int{failed}}
	add(r, `
		frozen lying-ok bomb-json redirect-keep failing-503 echo-id echo-spelled mutated-1 tls-name`)
	r.phase = verifyProofs
	r.statuses = []int{done}
	r.server = refchatAlone
	add(r, "slow")
	r.statuses, r.server = []int{invalid}, refchatServer
	add(r, `
		frozen reset failing-500 unauthorized-401 lying-ok lying-empty lying-null lying-types
		empty-lists endless-chunks truncated-body bomb-gzip bomb-json bomb-deep redirect-host
		echo-id echo-taunt echo-cut echo-body echo-raw mutated-1 mutated-2 mutated-3`)

	// The news feed.
	r = row{load: feed, server: newsfeedServer, users: 3, phase: measured, statuses: []int{broken}}
	add(r, `
		frozen endless-chunks truncated-body lying-empty lying-ok lying-ids lying-types failing-500
		redirect-keep reset bomb-gzip bomb-json bomb-deep echo-id echo-taunt mutated-1 mutated-2`)
	r.phase, r.statuses = ramp, []int{invalid}
	add(r, "failing-503 lying-ok frozen")
	r.phase, r.statuses = audit, []int{invalid}
	add(r, "frozen lying-html bomb-json failing-500 echo-taunt")
	r.statuses, r.classes = []int{broken}, []string{}
	add(r, "empty-lists")
	for i := range all {
		// it waits for the audit's minute
		if all[i].phase == audit && all[i].mode.name == "frozen" {
			all[i].wait = true
		}
	}
	return all
}

// limit is the time after which a row is ended and has failed: no hang. It is not a bound on speed.
func (r row) limit() time.Duration {
	if r.wait {
		return 3 * time.Minute
	}
	return 90 * time.Second
}
