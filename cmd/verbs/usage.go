package verbs

import (
	"fmt"

	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/usage"
)

// help prints the verbs.
func help(a *app.App) {
	a.Printf(
		"plimsoll loads a messaging server with simulated users and reports how many it\n" +
			"supports, whether that has changed, and its limiter.\n\nusage: plimsoll VERB [flags] ARG\n\n",
	)
	var rows [][2]string
	for _, v := range verbs(a) {
		rows = append(rows, [2]string{v.name, v.short})
	}
	usage.List(a.Stdout, rows)
	a.Printf("\nplimsoll help VERB prints the arguments and flags of one.\n\n" +
		"exit status: 0 done, 1 the tool failed, 2 usage or bad plan, 3 worse,\n" +
		"4 inconclusive or indicative, 5 run invalid, 6 a rule did not hold or\n" +
		"acknowledged messages are gone, 130 interrupted by Ctrl-C\n")
}

// noVerb is the message for an unknown verb.
func noVerb(a *app.App, name string) string {
	names := []string{"help"}
	for _, v := range verbs(a) {
		names = append(names, v.name)
	}
	return fmt.Sprintf("no verb %q; %s", name, usage.Nearest(name, names, "plimsoll help"))
}
