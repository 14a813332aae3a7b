package query

import (
	"regexp"
	"slices"
	"strings"
)

// normalize returns the text of a statement by which two servers are compared: without comments,
// with ? for each constant and parameter, (...) for a list of them behind IN and VALUES, and single
// spaces. The text is of pg_stat_statements or a digest of MySQL. Those leave the constants in that
// are in other statements than queries, such as passwords; of these the command alone is returned.
// At most 8 KiB of the text are read.
func normalize(text string, mysql bool) string {
	list, _ := tokensOf(text, mysql)
	if !isQuery(list) {
		return command(list)
	}
	return join(lists(list))
}

// queries begin the statements in which servers replace constants.
var queries = []string{
	"SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "MERGE", "VALUES", "TABLE", "REPLACE", "(",
}

// Planned reports whether a server has a plan for a statement.
func Planned(text string) bool {
	list, _ := tokens(text)
	return isQuery(list)
}

func isQuery(list []string) bool { return len(list) > 0 && is(list[0], queries...) }

// commandRE is the form of the words of a command.
var commandRE = regexp.MustCompile(`^[A-Za-z]{1,20}$`)

// command returns the first word, and the second of commands on objects.
func command(list []string) string {
	if len(list) == 0 || !commandRE.MatchString(list[0]) {
		return ""
	}
	name := strings.ToUpper(list[0])
	if len(list) > 1 && commandRE.MatchString(list[1]) && is(name, "CREATE", "ALTER", "DROP") {
		name += " " + strings.ToUpper(list[1])
	}
	return name
}

// is reports whether a token is one of some words, in either case.
func is(token string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(token, w) })
}

// lists replaces lists of constants behind IN and VALUES, however long they are.
func lists(in []string) (out []string) {
	for i := 0; i < len(in); i++ {
		n := len(out)
		if in[i] == "(" && n > 0 &&
			(is(out[n-1], "IN", "VALUES") || n > 1 && out[n-1] == "," && out[n-2] == listed) {
			if end := constants(in[i:]); end > 0 {
				i += end - 1
				if out[n-1] == "," {
					out = out[:n-1]
					continue
				}
				out = append(out, listed)
				continue
			}
		}
		out = append(out, in[i])
	}
	return out
}

// constants returns how many tokens a list of constants has; 0 if it is none.
func constants(list []string) int {
	for i, t := range list[1:] {
		switch {
		case t == ")" && i > 0:
			return i + 2
		case t != constant && t != "," && t != "...":
			return 0
		}
	}
	return 0
}

// join writes tokens with one space between, where one is needed.
func join(list []string) string {
	var b strings.Builder
	for i, t := range list {
		if i > 0 && !adjacent(list[i-1], t) {
			b.WriteByte(' ')
		}
		b.WriteString(t)
	}
	return b.String()
}

// adjacent reports whether two tokens have no space between them. Two that would be read as one or as
// others have one: dots and operators.
func adjacent(a, b string) bool {
	last, first := a[len(a)-1], b[0]
	if last == '.' && first == '.' || operator(last) && operator(first) {
		return false
	}
	return is(b, ".", ",", ")", ";", "]", "::") || is(a, ".", "(", "[", "::")
}

var (
	// namedRE is a comment of sqlc: "name: GetPost :one".
	namedRE = regexp.MustCompile(`^\s*name:\s*([A-Za-z_][\w.]{0,63})(\s+:\w+)?\s*$`)
	// bareRE is a comment that is one name.
	bareRE = regexp.MustCompile(`^\s*([A-Za-z_][\w.:/-]{0,63})\s*$`)
)

// Operation returns the name that a comment gives a statement: /* PostStore.Get */, or -- name:
// GetPost :one. It is empty for other comments. A server keeps the comments of the call that it saw
// first; tags with values, such as the route of a request, may differ from call to call.
func Operation(text string) string {
	_, comments := tokens(text)
	for _, c := range comments {
		for _, re := range []*regexp.Regexp{namedRE, bareRE} {
			if m := re.FindStringSubmatch(c); m != nil {
				return m[1]
			}
		}
	}
	return ""
}

// Skeleton returns a normalized text without its lists of columns: what a SELECT returns, an INSERT
// fills and an UPDATE sets is (...). Two statements with one skeleton do the same to the same
// relations under the same conditions.
func Skeleton(normalized string) string {
	list, _ := tokens(normalized)
	var out []string
	for i := 0; i < len(list); i++ {
		out = append(out, list[i])
		from, to := i+1, i+1
		switch {
		case is(list[i], "SELECT"):
			to = end(list, from, "FROM")
		case is(list[i], "SET"):
			to = end(list, from, "WHERE", "FROM", "RETURNING")
		case is(list[i], "VALUES"):
			to = end(list, from, "ON", "RETURNING")
		case i > 1 && is(list[i-1], "INTO") && from < len(list) && list[from] == "(":
			to = end(list, from+1) + 1
		}
		if to > from {
			out = append(out, listed)
			i = min(to, len(list)) - 1
		}
	}
	return join(out)
}

// end returns the index of the first of some words from an index on, outside of brackets; of the
// bracket that ends the part, or of the end, if there is none.
func end(list []string, from int, words ...string) int {
	depth := 0
	for i := from; i < len(list); i++ {
		switch {
		case depth == 0 && (list[i] == ")" || is(list[i], words...)):
			return i
		case list[i] == "(":
			depth++
		case list[i] == ")":
			depth--
		}
	}
	return len(list)
}
