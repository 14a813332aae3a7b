package verbs

import (
	"fmt"

	"plimsoll/cmd/internal/usage"
	"plimsoll/internal/plain"
)

// help prints the verbs.
func (a *app) help() {
	plain.Fprintf(a.stdout, "plimsoll loads a messaging server with simulated users and reports how many it\n"+
		"supports, whether that has changed, and its limiter.\n\nusage: plimsoll VERB [flags] ARG\n\n")
	var rows [][2]string
	for _, v := range a.verbs() {
		rows = append(rows, [2]string{v.name, v.short})
	}
	usage.List(a.stdout, 13, rows)
	plain.Fprintf(a.stdout, "\nplimsoll help VERB prints the arguments and flags of one.\n\n"+
		"exit status: 0 done, 1 the tool failed, 2 usage or bad plan, 3 worse,\n"+
		"4 inconclusive or indicative, 5 run invalid, 6 a rule did not hold or\n"+
		"acknowledged messages are gone, 130 interrupted by Ctrl-C\n")
}

var parse = usage.Parse

// noVerb is the message for an unknown verb.
func (a *app) noVerb(name string) string {
	names := []string{"help"}
	for _, v := range a.verbs() {
		names = append(names, v.name)
	}
	return fmt.Sprintf("no verb %q; %s", name, usage.Nearest(name, names, "plimsoll help"))
}
