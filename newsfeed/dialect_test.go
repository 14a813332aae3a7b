package newsfeed

import (
	"strings"
	"testing"

	"plimsoll/dialect"
	"plimsoll/dialect/mattermost"
	"plimsoll/plan"
)

// both are the dialects of the program that has the news feed.
var both = dialect.Set{mattermost.Dialect, Dialect}

func known() plan.Known {
	k := both.Known()
	k.Refused = both.CheckPlan
	return k
}

const feedPlan = `
name: feed
target: {driver: newsfeed}
database: {engine: postgresql}
workload: {behavior: newsfeed, params: {preset: mixed-10}}
bounded: {users: 10}
`

// TestDefaultRulesOfTheNewsFeed are rules, and speak of its own metrics where they can be read.
func TestDefaultRulesOfTheNewsFeed(t *testing.T) {
	p, err := known().Parse([]byte(strings.Replace(feedPlan, "bounded: {users: 10}", "unbounded: {max_users: 50}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, r := range both.WithDefaultRules(p).Unbounded.SLO {
		text += r.Source + "\n"
	}
	for _, want := range []string{"newsfeed_request_seconds_count", "newsfeed_telemetry_lost_total", "cpu(app)", "p99(op)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no rule of %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "mattermost") {
		t.Errorf("a rule of another server:\n%s", text)
	}
	if p, err = known().Parse([]byte(feedPlan)); err != nil {
		t.Fatal(err)
	}
	if rules := both.WithDefaultRules(p).BoundedRules(); len(rules) != 1 ||
		rules[0].Source != plan.FailedOperations {
		t.Errorf("a bounded test has the rules %v, want %s", rules, plan.FailedOperations)
	}
}

func TestSettingsBelongToOneKindOfServer(t *testing.T) {
	for _, c := range []struct {
		behaviors []string
		params    map[string]string
		say       string
	}{
		{[]string{"newsfeed"}, map[string]string{"preset": "mixed-10"}, ""},
		{[]string{"newsfeed"}, map[string]string{"channels": "3"}, "channels is unknown"},
		{[]string{"poster"}, map[string]string{"preset": "mixed-10"}, "preset is unknown"},
		{[]string{"poster", "mattermost"}, map[string]string{"channels": "3"}, ""},
		{[]string{"newsfeed", "poster"}, nil, "do not go together"},
	} {
		err := both.CheckSettings(c.behaviors, c.params)
		if (err == nil) != (c.say == "") || err != nil && !strings.Contains(err.Error(), c.say) {
			t.Errorf("%v with %v: %v, want %q", c.behaviors, c.params, err, c.say)
		}
	}
}

// TestPlansOfTwoKindsOfServer: a plan that could not be carried out is refused with its place and
// the accepted values.
func TestPlansOfTwoKindsOfServer(t *testing.T) {
	const chat = "name: n\ntarget: {driver: refchat}\ndatabase: {engine: postgresql}\nworkload: {behavior: poster}\nbounded: {users: 5}\n"
	with := func(old, new string) string { return strings.Replace(chat, old, new, 1) }
	for _, tt := range []struct{ name, src, want string }{
		{"settings of another kind", with("poster}", "poster, params: {preset: mixed-10}}"), "workload.params.preset: is unknown"},
		{"behaviors of two kinds", with("poster}", "poster, with: {newsfeed: 10%}}"), "workload.with: behaviors of two kinds of server do not go together: newsfeed, poster"},
		{"a behavior that refchat does not serve", with("poster", "newsfeed"), "4:22: workload.behavior: newsfeed is of another kind of server than the driver refchat; want one of mattermost, poster"},
		{"a behavior that refnull does not serve", strings.Replace(with("poster", "newsfeed"), "refchat", "refnull", 1), "newsfeed is of another kind of server than the driver refnull"},
		{"a news feed that does not serve the behavior", with("refchat", "newsfeed"), "workload.behavior: poster is of another kind of server than the driver newsfeed; want one of newsfeed"},
		{"a news feed without a database", strings.Replace(feedPlan, "database: {engine: postgresql}\n", "", 1), "database.engine: is missing; the news feed needs a database"},
		{"accounts of a file", strings.Replace(feedPlan, "mixed-10}", "mixed-10}, users_file: u.csv", 1), "workload.users_file: users of the behavior newsfeed log in without accounts of a file"},
		{"a margin of an operation that is none", feedPlan + "compare: {arms: {base: {}, new: {}}, margin: {throughput(tale): 5%}}\n", "throughput(tale)"},
	} {
		if _, err := known().Parse([]byte(tt.src)); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	for _, src := range []string{chat, feedPlan, feedPlan + "compare: {arms: {base: {}, new: {}}, margin: {throughput(story): 5%}}\n"} {
		if _, err := known().Parse([]byte(src)); err != nil {
			t.Errorf("a good plan: %v", err)
		}
	}
}
