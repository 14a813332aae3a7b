package main

import (
	"fmt"
	"strings"
)

// page is the man page of the program.
func (m *manual) page() string {
	var b strings.Builder
	m.title(&b, "plimsoll")
	about := flat(m.about)
	fmt.Fprintf(
		&b,
		".SH NAME\nplimsoll \\- load tests of messaging servers, and comparisons of their releases\n"+
			".SH SYNOPSIS\n.B plimsoll\n.I VERB\n[flags]\n.I ARG\n.SH DESCRIPTION\n%s\n.SH VERBS\n",
		roff(about),
	)
	for _, v := range m.verbs {
		fmt.Fprintf(&b, ".TP\n.BR plimsoll\\-%s (1)\n%s\n", roff(v.name), roff(v.short))
	}
	fmt.Fprintf(&b, ".SH EXIT STATUS\n%s\n", roff(flat(m.statuses)))
	b.WriteString(
		".SH FILES\n.TP\n.I .plimsoll\nThe store of runs and comparisons, in the working directory; -store or PLIMSOLL_STORE names another.\n" +
			".TP\n.I /etc/plimsoll\nSettings and token of the unit plimsoll\\-agent.service.\n.SH SEE ALSO\n",
	)
	for i, v := range m.verbs {
		end := ","
		if i == len(m.verbs)-1 {
			end = ""
		}
		fmt.Fprintf(&b, ".BR plimsoll\\-%s (1)%s\n", roff(v.name), end)
	}
	return b.String()
}

// verbPage is the man page of a verb.
func (m *manual) verbPage(v verb) string {
	var b strings.Builder
	m.title(&b, "plimsoll-"+v.name)
	fmt.Fprintf(
		&b,
		".SH NAME\nplimsoll\\-%s \\- %s\n.SH SYNOPSIS\n.B %s\n",
		roff(v.name),
		roff(v.short),
		roff(v.usage),
	)
	options(&b, ".SH OPTIONS\n", v.flags)
	for _, a := range v.actions {
		options(
			&b,
			fmt.Sprintf(".SH OPTIONS OF %s\n", strings.ToUpper(roff(v.name+" "+a.name))),
			a.flags,
		)
	}
	b.WriteString(".SH SEE ALSO\n.BR plimsoll (1)\n")
	return b.String()
}

func (m *manual) title(b *strings.Builder, name string) {
	fmt.Fprintf(
		b,
		".TH %s 1 %q %q \"User Commands\"\n",
		strings.ToUpper(roff(name)),
		m.date,
		"plimsoll "+m.version,
	)
}

func options(b *strings.Builder, head string, flags []option) {
	if len(flags) == 0 {
		return
	}
	b.WriteString(head)
	for _, f := range flags {
		fmt.Fprintf(b, ".TP\n\\fB\\-%s\\fR", roff(f.name))
		if f.value != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(f.value))
		}
		fmt.Fprintf(b, "\n%s\n", roff(f.text))
	}
}

// roff escapes a text of one line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
