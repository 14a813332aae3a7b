package plan

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// A plan is stored, sent and printed, so it may not hold a secret. It names secrets instead:
// "${ENV:NAME}" is the value of an environment variable and "${FILE:PATH}" the content of a file,
// both of the host that needs it.

var (
	referenceRE = regexp.MustCompile(`\$\{(ENV:[A-Za-z_][A-Za-z0-9_]*|FILE:[^{}\x00\n]+)\}`)
	openRefRE   = regexp.MustCompile(`\$\{(ENV|FILE)\b`)
	secretKeyRE = regexp.MustCompile(
		`(?i)passw|passphrase|secret|token|api[-_]?key|private[-_]?key|credential|(^|[-_])(pwd|dsn)([-_]|$)`,
	)
	userinfoRE = regexp.MustCompile(`://[^/?#\s@:]*:([^/?#\s@]+)@`)
	dsnRE      = regexp.MustCompile(`^[^\s:@/]*:([^\s@]+)@(tcp|unix)\(`)
	queryRE    = regexp.MustCompile(
		`(?i)[?&][a-z_-]*(?:passw|secret|token|api[-_]?key)[a-z_-]*=([^&#\s]+)`,
	)
	bearerRE = regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+([a-z0-9._~+/=-]{8,})`)
	// placeRE is a switch that takes the place of a secret: the name of a variable, or a file;
	// placedRE is such a value.
	placeRE  = regexp.MustCompile(`(?i)[-_](env|file)$`)
	placedRE = regexp.MustCompile(`^([A-Z][A-Z0-9_]*|[.~]{0,2}/\S*)$`)
	filledRE = regexp.MustCompile(`\$\{(` + strings.Join(FilledSecrets, "|") + `)\}`)

	assignRE = regexp.MustCompile(`^-{0,2}([A-Za-z][A-Za-z0-9_.-]*)=(.*)$`)
	flagRE   = regexp.MustCompile(`^-{1,2}([A-Za-z][A-Za-z0-9_.-]*)$`)
)

// FilledSecrets names the variables with secrets that drivers fill in for each instance, as in
// "${DSN}". They may not stand in arguments.
var FilledSecrets = []string{"DSN", "DSN_BARE", "DSN_REPLICAS", "DSN_REPLICAS_BARE", "DB_PASSWORD"}

const secretRemedy = `write "${ENV:NAME}" or "${FILE:PATH}" instead of the value, and set it where the tool runs`

// argsRemedy is the remedy for arguments, in which no reference is replaced.
const argsRemedy = `every user of a host can read arguments: pass it to the program by its environment (env), with "${ENV:NAME}" as the value`

// Expand returns s with every reference replaced by the value that lookup returns for its kind,
// "ENV" or "FILE", and its name. Other uses of "$" stay. The error names the reference, never a
// value; lookup's error must do the same.
func Expand(s string, lookup func(kind, name string) (string, error)) (string, error) {
	var failed error
	out := referenceRE.ReplaceAllStringFunc(s, func(ref string) string {
		if failed != nil {
			return ""
		}
		kind, name, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(ref, "${"), "}"), ":")
		v, err := lookup(kind, name)
		if err != nil {
			failed = fmt.Errorf("expanding %s: %w", ref, err)
		}
		return v
	})
	if failed != nil {
		return "", failed
	}
	return out, nil
}

// PasswordIn returns the password, token or key in an address, a data source name or a header's
// value, or "".
func PasswordIn(value string) string {
	for _, re := range []*regexp.Regexp{userinfoRE, dsnRE, queryRE, bearerRE} {
		if m := re.FindStringSubmatch(value); m != nil {
			return m[1]
		}
	}
	return ""
}

// hasReference reports whether a value names a secret.
func hasReference(s string) bool { return referenceRE.MatchString(s) }

// secretValue returns the error of a value under a key, or "". The message never holds the value.
func secretValue(key, value string) string {
	if strings.ContainsRune(value, 0) {
		return "holds a zero byte; remove it"
	}
	if len(openRefRE.FindAllString(value, -1)) != len(referenceRE.FindAllString(value, -1)) {
		return "holds a reference that is not complete; write ${ENV:NAME} or ${FILE:PATH}"
	}
	// A boolean switch about tokens is not a token, and the name of a variable or a file that holds
	// one is neither.
	harmless := value == "" || value == "true" || value == "false" ||
		placeRE.MatchString(key) && placedRE.MatchString(value)
	if secretKeyRE.MatchString(key) && !harmless && !hasReference(value) {
		return "looks like a secret, and plans are stored and printed; " + secretRemedy
	}
	for _, re := range []*regexp.Regexp{userinfoRE, dsnRE, queryRE, bearerRE} {
		for _, m := range re.FindAllStringSubmatch(value, -1) {
			if !hasReference(m[1]) {
				return "holds a password or token, and plans are stored and printed; " + secretRemedy
			}
		}
	}
	return ""
}

// address quotes an address for a message, unless it may hold a user, a password or a token.
func address(s string) string {
	if strings.ContainsAny(s, "@?") {
		return "it"
	}
	return clip(s)
}

// arguments is the type of a command line. Any user of a host can read it.
var arguments = words.then(func(n node, v reflect.Value) {
	for i, wrong := range secretArgs(v.Interface().([]string)) {
		n.item(i).note("%s", wrong)
	}
})

// command is the type of one that begins with its program.
var command = arguments.then(func(n node, v reflect.Value) {
	if v.Len() > 0 && v.Index(0).String() == "" {
		n.item(0).note("is empty; want the program to run")
	}
})

// secretArgs returns the errors of the arguments of a command line, by index.
func secretArgs(args []string) map[int]string {
	wrong := map[int]string{}
	for i, arg := range args {
		key, value := "", arg
		if m := assignRE.FindStringSubmatch(arg); m != nil {
			key = m[1]
			value = m[2]
		} else if i > 0 && !strings.HasPrefix(arg, "-") {
			if m := flagRE.FindStringSubmatch(args[i-1]); m != nil {
				key = m[1]
			}
		}
		msg := secretValue(key, value)
		if msg == "" && hasReference(value) {
			msg = "names a secret; " + argsRemedy
		}
		if msg != "" {
			wrong[i] = strings.Replace(msg, secretRemedy, argsRemedy, 1)
		}
	}
	return wrong
}
