package hosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/internal/app"
	"plimsoll/internal/plain"
	"plimsoll/load/fleet"
)

// oddMessages are messages that no coordinator sends, each as the messages of one conversation;
// EPOCH stands for the present, OK for a start that works.
var oddMessages = []struct{ name, say string }{
	{"nothing", ``},
	{"an empty object", `{}`},
	{"a null", `null`},
	{"a number", `7`},
	{"a text", `"start"`},
	{"an array", `[{}]`},
	{"half an object", `{"start":{`},
	{"no JSON", "GET / HTTP/1.1\r\n\r\n"},
	{"bytes", "\x00\xff\xfe\x1b[2J"},
	{"deep nesting", strings.Repeat(`{"start":`, 20_000)},
	{"a long text", `{"start":{"settings":"` + strings.Repeat("x", 1<<20) + `"}}`},
	{"another kind of request", `{"dance":{}}`},
	{"users before the start", `{"users":{"n":3}}`},
	{"a storm before the start", `{"storm":{"Kind":"rally"}}`},
	{"a report before the start", `{"collect":{}}`},
	{"the end before the start", `{"stop":{}}`},
	{"a start without settings", `{"start":{"epoch":EPOCH}}`},
	{"a start without an epoch", `{"start":{"settings":{"pace":1}}}`},
	{
		"a start of another century",
		`{"start":{"epoch":"1816-01-01T00:00:00Z","settings":{"pace":1}}}`,
	},
	{"settings that are null", `{"start":{"epoch":EPOCH,"settings":null}}`},
	{"settings that are an array", `{"start":{"epoch":EPOCH,"settings":[1]}}`},
	{"no behavior", `{"start":{"epoch":EPOCH,"settings":{"pace":1,"behaviors":[]}}}`},
	{
		"no behavior, then users",
		`{"start":{"epoch":EPOCH,"settings":{"pace":1,"behaviors":[]}}}{"users":{"n":3}}`,
	},
	{
		"no behavior, then a storm",
		`{"start":{"epoch":EPOCH,"settings":{"pace":1}}}{"storm":{"Kind":"rally","Share":1}}`,
	},
	{"no behavior, then a report", `{"start":{"epoch":EPOCH,"settings":{"pace":1}}}{"collect":{}}`},
	{"no behavior, then the end", `{"start":{"epoch":EPOCH,"settings":{"pace":1}}}{"stop":{}}`},
	{
		"arrivals without behaviors",
		`{"start":{"epoch":EPOCH,"settings":{"pace":1,"arrivals":{"rate":5,"in_flight":2,"queue":1}}}}`,
	},
	{
		"arrivals of a behavior that has none",
		`{"start":{"epoch":EPOCH,"settings":{"url":"http://127.0.0.1:1","pace":1,"behaviors":[{"name":"mattermost","share":1,"state":{}}],"arrivals":{"rate":5,"in_flight":2}}}}`,
	},
	{
		"arrivals at no rate",
		`{"start":{"epoch":EPOCH,"settings":{"url":"http://127.0.0.1:1","pace":1,"behaviors":[{"name":"poster","share":1,"state":{"channels":["c"]}}],"arrivals":{"rate":-5,"in_flight":2}}}}`,
	},
	{
		"a behavior that nobody has",
		`{"start":{"epoch":EPOCH,"settings":{"pace":1,"behaviors":[{"name":"ghost","share":1,"state":{}}]}}}`,
	},
	{
		"a behavior without a name",
		`{"start":{"epoch":EPOCH,"settings":{"pace":1,"behaviors":[{}]}}}`,
	},
	{
		"a behavior without a state",
		`{"start":{"epoch":EPOCH,"settings":{"pace":1,"behaviors":[{"name":"poster","share":1}]}}}`,
	},
	{
		"a state of another kind",
		`{"start":{"epoch":EPOCH,"settings":{"pace":1,"behaviors":[{"name":"mattermost","share":1,"state":[]}]}}}`,
	},
	{
		"a state that is null",
		`{"start":{"epoch":EPOCH,"settings":{"pace":1,"behaviors":[{"name":"mattermost","share":1,"state":null}]}}}{"users":{"n":2}}`,
	},
	{
		"shares that are negative",
		`{"start":{"epoch":EPOCH,"settings":{"pace":1,"behaviors":[{"name":"poster","share":2,"state":{"channels":["c"]}},{"name":"poster","share":-1,"state":{"channels":["c"]}}]}}}{"users":{"n":2}}`,
	},
	{
		"no pace",
		`{"start":{"epoch":EPOCH,"settings":{"behaviors":[{"name":"poster","share":1,"state":{"channels":["c"]}}]}}}`,
	},
	{
		"no URL",
		`{"start":{"epoch":EPOCH,"settings":{"pace":1,"behaviors":[{"name":"poster","share":1,"state":{"channels":["c"]}}]}}}{"users":{"n":2}}`,
	},
	{
		"agents that are negative",
		`{"start":{"agent":-1,"agents":-7,"epoch":EPOCH,"settings":{"pace":1}}}`,
	},
	{
		"an agent beyond the last",
		`{"start":{"agent":9,"agents":3,"epoch":EPOCH,"settings":{"pace":1}}}`,
	},
	{
		"more agents than there can be",
		`{"start":{"agent":1,"agents":9223372036854775807,"epoch":EPOCH,"settings":{"pace":1}}}`,
	},
	{"two starts", `OK OK`},
	{"fewer users than none", `OK {"users":{"n":-3}}`},
	{"more users than people", `OK {"users":{"n":9000000000}}`},
	{"users over a negative time", `OK {"users":{"n":1,"over":-5}}`},
	{"a storm of no kind", `OK {"storm":{}}`},
	{"a storm of many shares", `OK {"users":{"n":2}}{"storm":{"Kind":"rally","Share":7e300}}`},
	{"a storm in the past", `OK {"storm":{"Kind":"rally","Share":1,"Over":-1}}`},
	{
		"a report of the future",
		`OK {"collect":{"mark":9223372036854775807,"censor":{"at":-5,"timeout":-5}}}{"collect":{}}`,
	},
	{
		"messages without a channel",
		`OK {"collect":{"acked":[{},{"id":"x","author":-9,"sent":-1,"acked":-2}]}}{"collect":{}}`,
	},
	{
		"a behavior with a long name",
		`{"start":{"epoch":EPOCH,"settings":{"behaviors":[{"name":"` + strings.Repeat(
			"x",
			3000,
		) + `"}]}}}`,
	},
	{"two ends", `OK {"stop":{"grace":-1}}{"stop":{}}`},
	{"everything at once", `OK {"users":{"n":1},"storm":{},"collect":{},"stop":{}}`},
}

// TestOddMessagesDoNotEndAnAgentByAPanic: each is refused by an error, and an agent that is asked
// for an end has one. Before, those that follow a start that had failed, and arrivals without a
// behavior, ended it by a panic.
func TestOddMessagesDoNotEndAnAgentByAPanic(t *testing.T) {
	if len(oddMessages) < 30 {
		t.Fatalf("only %d messages", len(oddMessages))
	}
	for _, tt := range oddMessages {
		t.Run(tt.name, func(t *testing.T) { converse(t, tt.say) })
	}
}

// works is a start that succeeds: a poster needs no server before its first action.
const works = `{"start":{"epoch":EPOCH,"settings":{"url":"http://127.0.0.1:1","pace":1000000,"behaviors":[{"name":"poster","share":1,"state":{"channels":["c"]}}]}}}`

// converse sends messages to an agent and checks its replies.
func converse(t *testing.T, say string) {
	t.Helper()
	epoch, _ := json.Marshal(time.Now())
	say = strings.ReplaceAll(strings.ReplaceAll(say, "OK", works), "EPOCH", string(epoch))
	var out bytes.Buffer
	err := fleet.Serve(
		t.Context(),
		strings.NewReader(say),
		&out,
		(&app.App{Secrets: new(plain.Secrets)}).Program().AgentBuilder().Build,
	)
	replies := 0
	for ; out.Len() > 0; replies++ {
		var r struct {
			Error  string          `json:"error"`
			Panic  json.RawMessage `json:"panic"`
			Report struct{ Windows, Deliveries, Between int }
		}
		line, err := out.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &r)
		}
		if err != nil {
			t.Fatalf("reply %d: %v", replies, err)
		}
		behind := r.Report.Windows + r.Report.Deliveries + r.Report.Between
		if behind > out.Len() {
			t.Fatalf("reply %d: %d bytes of windows, want %d", replies, out.Len(), behind)
		}
		out.Next(behind)
		if r.Panic != nil || strings.Contains(r.Error, "panic") {
			t.Errorf("reply %d: %s\n%s", replies, r.Error, r.Panic)
		}
		if len(r.Error) > 2000 {
			t.Errorf("reply %d: an error of %d bytes", replies, len(r.Error))
		}
	}
	if err != nil && strings.Contains(err.Error(), "panic") {
		t.Error(err)
	}
	asked := false
	for dec := json.NewDecoder(strings.NewReader(say)); !asked; {
		var m struct { // encoding/json reads its name in any case, and escaped
			Stop json.RawMessage `json:"stop"`
		}
		if err := dec.Decode(&m); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) {
			break
		}
		asked = m.Stop != nil
	}
	if err == nil && !asked {
		t.Errorf("an end that nobody asked for, after %d replies", replies)
	}
}

var largeRE = regexp.MustCompile(`[0-9]{4}|[0-9][eE]`)

// FuzzAgentMessages looks for further ones.
func FuzzAgentMessages(f *testing.F) {
	for _, tt := range oddMessages {
		f.Add(tt.say)
	}
	f.Fuzz(func(t *testing.T, say string) {
		if len(say) > 4<<10 {
			t.Skip("long")
		}
		// Users and places that would take minutes to make, and addresses of others.
		if largeRE.MatchString(say) ||
			strings.Contains(strings.ReplaceAll(say, "http://127.0.0.1:1\"", ""), "://") {
			t.Skip("large numbers or addresses")
		}
		converse(t, say)
	})
}
