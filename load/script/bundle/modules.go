package bundle

import (
	"fmt"
	"slices"
	"strings"
)

// Modules returns the modules that a script may import beside its own files.
func Modules() []string { return []string{"k6", "k6/data", "k6/http", "k6/ws", "plimsoll"} }

// absent is what to do without a module of k6, by its name or the beginning of it.
var absent = []struct{ module, remedy string }{
	{"k6/browser", "a browser is not simulated here; load the pages' requests with k6/http"},
	{"k6/experimental/browser", "a browser is not simulated here; load the pages' requests with k6/http"},
	{"k6/experimental/websockets", `use k6/ws, or user.socket of "plimsoll", whose handlers live on between iterations`},
	{"k6/websockets", `use k6/ws, or user.socket of "plimsoll", whose handlers live on between iterations`},
	{"k6/experimental/fs", "use open(), whose files are a part of the bundle"},
	{"k6/experimental/csv", "use open() and split the lines, in a SharedArray"},
	{"k6/experimental/streams", "use open() and a SharedArray"},
	{"k6/experimental/redis", "load the service that uses Redis; Redis itself needs a behavior in Go (plimsoll.Main)"},
	{"k6/experimental/tracing", "remove it: the statements of the target's database are read by Plimsoll itself"},
	{"k6/net/grpc", "gRPC is not spoken here; a behavior in Go can (plimsoll.Main)"},
	{"k6/experimental/grpc", "gRPC is not spoken here; a behavior in Go can (plimsoll.Main)"},
	{"k6/x/", "extensions of k6 are programs in Go; write a behavior in Go (plimsoll.Main)"},
	{"k6/crypto", "compute what is needed in a file beside the script, or in setup with what open() reads"},
	{"k6/encoding", "copy a base64 function into a file beside the script"},
	{"k6/html", "read the answer with JSON or a regular expression"},
	{"k6/execution", `use __VU and __ITER, or user.id of "plimsoll"; the plan has the rest`},
	{"k6/metrics", "count with check(), or time with group(): both become series with rules"},
	{"k6/timers", "use sleep()"},
	{"k6/secrets", "use __ENV, whose secrets are masked in all that is written"},
}

// elsewhere returns what to do instead of an import that names no file below the script's folder; ""
// if it may name one.
func elsewhere(name string) string {
	switch {
	case strings.HasPrefix(name, "./"), strings.HasPrefix(name, "../"), name == ".", name == "..":
		return ""
	case strings.Contains(name, "://"), strings.HasPrefix(name, "data:"):
		return "nothing is fetched; save the file beside the script and import ./" + base(name)
	case strings.HasPrefix(name, "/"), strings.Contains(name, `\`):
		return "is an absolute path; write it relative to this file, as ./NAME.js"
	case name == "k6", strings.HasPrefix(name, "k6/"):
		for _, a := range absent {
			if name == a.module || strings.HasPrefix(name, strings.TrimSuffix(a.module, "/")+"/") {
				return a.remedy
			}
		}
		return "is no module here; there are " + strings.Join(Modules(), ", ")
	case slices.Contains(Modules(), strings.SplitN(name, "/", 2)[0]):
		return "is no module here; there are " + strings.Join(Modules(), ", ")
	}
	return "is no file; write ./NAME.js for one beside this file; of a package, save a bundled copy there"
}

// base is the last part of an address that can be the name of a file.
func base(address string) string {
	address, _, _ = strings.Cut(address, "?")
	address, _, _ = strings.Cut(address, "#")
	name := address[strings.LastIndexAny(address, "/:")+1:]
	if !strings.HasSuffix(name, ".js") || len(name) > 60 {
		return "NAME.js"
	}
	return name
}

// clip quotes nothing and cuts a name to a readable length.
func clip(s string) string {
	const most = 100
	if len(s) > most {
		return fmt.Sprintf("%.*s…", most, s)
	}
	return s
}

// nested returns how deep the brackets of a source are nested, text and comments left out.
func nested(src []byte) int {
	depth, most := 0, 0
	for i := 0; i < len(src); i++ {
		switch c := src[i]; c {
		case '(', '[', '{':
			depth++
			most = max(most, depth)
		case ')', ']', '}':
			depth = max(depth-1, 0)
		case '"', '\'':
			for i++; i < len(src) && src[i] != c && src[i] != '\n'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
		}
	}
	return most
}
