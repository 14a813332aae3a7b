package main

import (
	"fmt"
	"strings"
)

// bash is the completion for bash 4 and newer. It needs no other package.
func (m *manual) bash() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# bash completion of plimsoll %s
_plimsoll() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local verbs='%s' words='' switches='' valued=''
	COMPREPLY=()
	if ((COMP_CWORD == 1)) || [[ ${COMP_WORDS[1]} == help && COMP_CWORD -eq 2 ]]; then
		mapfile -t COMPREPLY < <(compgen -W "help $verbs" -- "$cur")
		return
	fi
	case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
`, m.version, strings.Join(m.names(), " "))
	for _, v := range m.verbs {
		for _, a := range v.actions {
			bashCase(&b, fmt.Sprintf("'%s %s'", v.name, a.name), a)
		}
		bashCase(&b, fmt.Sprintf("'%s '*", v.name), v)
	}
	b.WriteString(`	esac
	if [[ " $valued " == *" $prev "* ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	elif [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$switches $valued" -- "$cur")
	else
		((COMP_CWORD == 2)) || words=''
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur"; compgen -f -- "$cur")
	fi
}
complete -o filenames -F _plimsoll plimsoll
`)
	return b.String()
}

func bashCase(b *strings.Builder, pattern string, v verb) {
	var switches, valued []string
	for _, f := range v.flags {
		if f.value == "" {
			switches = append(switches, "-"+f.name)
		} else {
			valued = append(valued, "-"+f.name)
		}
	}
	fmt.Fprintf(
		b,
		"\t%s)\n\t\twords='%s'\n\t\tswitches='%s'\n\t\tvalued='%s'\n\t\t;;\n",
		pattern,
		strings.Join(v.words, " "),
		strings.Join(append(switches, "-h"), " "),
		strings.Join(valued, " "),
	)
}

// zsh is the completion for zsh.
func (m *manual) zsh() string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"#compdef plimsoll\n# zsh completion of plimsoll %s\n_plimsoll() {\n\tlocal -a verbs\n\tverbs=(\n\t\t'help:print help'\n",
		m.version,
	)
	for _, v := range m.verbs {
		fmt.Fprintf(&b, "\t\t%s\n", quoted(v.name+":"+strings.ReplaceAll(v.short, ":", `\:`)))
	}
	b.WriteString(
		"\t)\n\tif ((CURRENT == 2)) || [[ $words[2] == help ]]; then\n\t\t_describe -t verbs verb verbs\n\t\treturn\n\tfi\n" +
			"\tlocal verb=$words[2] action=$words[3]\n\tshift words\n\t((CURRENT--))\n\tcase \"$verb $action\" in\n",
	)
	for _, v := range m.verbs {
		for _, a := range v.actions {
			zshCase(&b, fmt.Sprintf("'%s %s'", v.name, a.name), a, v.words)
		}
		zshCase(&b, fmt.Sprintf("'%s '*", v.name), v, v.words)
	}
	b.WriteString("\tesac\n}\n_plimsoll \"$@\"\n")
	return b.String()
}

func zshCase(b *strings.Builder, pattern string, v verb, words []string) {
	fmt.Fprintf(b, "\t%s)\n\t\t_arguments", pattern)
	describe := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`)
	for _, f := range v.flags {
		spec := "-" + f.name + "[" + describe.Replace(f.text) + "]"
		if f.value != "" {
			spec += ":" + describe.Replace(f.value) + ":_files"
		}
		fmt.Fprintf(b, " \\\n\t\t\t%s", quoted(spec))
	}
	if len(words) > 0 {
		fmt.Fprintf(
			b,
			" \\\n\t\t\t%s",
			quoted("1:argument:{ compadd "+strings.Join(words, " ")+"; _files }"),
		)
	}
	b.WriteString(" \\\n\t\t\t'*:file:_files'\n\t\t;;\n")
}

// fish is the completion for fish.
func (m *manual) fish() string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"# fish completion of plimsoll %s\ncomplete -c plimsoll -n __fish_use_subcommand -f -a help -d 'print help'\n",
		m.version,
	)
	for _, v := range m.verbs {
		fmt.Fprintf(
			&b,
			"complete -c plimsoll -n __fish_use_subcommand -f -a %s -d %s\n",
			v.name,
			fishQuoted(v.short),
		)
		is := "__fish_seen_subcommand_from " + v.name
		if len(v.words) > 0 {
			none := is + "; and not __fish_seen_subcommand_from " + strings.Join(v.words, " ")
			fmt.Fprintf(
				&b,
				"complete -c plimsoll -n '%s' -a '%s'\n",
				none,
				strings.Join(v.words, " "),
			)
		}
		fishFlags(&b, is, v.flags)
		for _, a := range v.actions {
			fishFlags(&b, is+"; and __fish_seen_subcommand_from "+a.name, a.flags)
		}
	}
	return b.String()
}

func fishFlags(b *strings.Builder, when string, flags []option) {
	for _, f := range flags {
		takes := ""
		if f.value != "" {
			takes = " -r"
		}
		fmt.Fprintf(
			b,
			"complete -c plimsoll -n '%s' -o %s%s -d %s\n",
			when,
			f.name,
			takes,
			fishQuoted(f.text),
		)
	}
}

// quoted is a text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// fishQuoted is a text as one word of fish.
func fishQuoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

// names lists the verbs.
func (m *manual) names() (names []string) {
	for _, v := range m.verbs {
		names = append(names, v.name)
	}
	return names
}
