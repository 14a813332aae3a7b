package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/cmd/verbs"
	"plimsoll/internal/failure"
)

// asProgram makes the test's own program plimsoll.
const asProgram = "PLIMSOLL_MANUAL_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(verbs.Main())
	}
	os.Exit(m.Run())
}

// made writes the pages of the program once for a test.
func made(t *testing.T) (program, dir string) {
	t.Helper()
	t.Setenv(asProgram, "1")
	program, err := os.Executable()
	failure.None(t, err)
	dir = t.TempDir()
	failure.None(t, write(t.Context(), program, dir))
	return program, dir
}

func text(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	failure.None(t, err)
	return string(b)
}

// Each verb has a page, and each flag of its help stands in that page and in the completions of all
// three shells.
func TestEveryVerbAndFlag(t *testing.T) {
	program, dir := made(t)
	shells := map[string]string{
		"bash": text(t, dir, "completions", "plimsoll"),
		"zsh":  text(t, dir, "completions", "_plimsoll"),
		"fish": text(t, dir, "completions", "plimsoll.fish"),
	}
	help, err := exec.CommandContext(t.Context(), program, "help").Output()
	failure.None(t, err)
	list := regexp.MustCompile(`(?m)^  ([a-z]+)\s`).FindAllSubmatch(help, -1)
	flags := 0
	for _, found := range list {
		verb := string(found[1])
		page := text(t, dir, "man", "plimsoll-"+verb+".1")
		if !strings.Contains(text(t, dir, "man", "plimsoll.1"), `plimsoll\-`+verb+" (1)") {
			t.Errorf("plimsoll.1 lacks %s", verb)
		}
		calls := [][]string{{verb}}
		switch verb {
		case "report":
			calls = append(calls, []string{verb, "trend"})
		case "data":
			calls = append(calls, []string{verb, "generate"}, []string{verb, "restore"})
		}
		for _, call := range calls {
			out, err := exec.CommandContext(t.Context(), program, append(call, "-h")...).Output()
			if err != nil {
				t.Fatalf("%v -h: %v", call, err)
			}
			for _, f := range regexp.MustCompile(`(?m)^  -(\S+)`).FindAllSubmatch(out, -1) {
				flags++
				name := string(f[1])
				if !strings.Contains(page, `\fB\-`+strings.ReplaceAll(name, "-", `\-`)+`\fR`) {
					t.Errorf("the page of %s lacks -%s", verb, name)
				}
				for shell, form := range map[string]string{
					"bash": "-" + name,
					"zsh":  "'-" + name + "[",
					"fish": "_from " + strings.Join(call, "; and __fish_seen_subcommand_from ") + "' -o " + name,
				} {
					if !strings.Contains(shells[shell], form) {
						t.Errorf("the completion of %s lacks -%s of %s", shell, name, call)
					}
				}
			}
		}
	}
	if len(list) < 15 || flags < 100 {
		t.Errorf("only %d verbs with %d flags were found", len(list), flags)
	}
}

// Bash completes with the file as a user's does.
func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	_, dir := made(t)
	files := t.TempDir()
	for _, name := range []string{"plan.yaml", "pages"} {
		failure.None(t, os.WriteFile(filepath.Join(files, name), nil, 0o600))
	}
	for line, want := range map[string][]string{
		"plimsoll ca":                        {"calibrate", "capacity"},
		"plimsoll help vers":                 {"version"},
		"plimsoll run -js":                   {"-json"},
		"plimsoll run -json pl":              {"plan.yaml"},
		"plimsoll run -database pa":          {"pages"},
		"plimsoll target st":                 {"status"},
		"plimsoll plan check p":              {"pages", "plan.yaml"},
		"plimsoll data gen":                  {"generate"},
		"plimsoll data restore -pla":         {"-plain"},
		"plimsoll data generate tiny -reset": nil, // a flag of restore alone
		"plimsoll report trend -jso":         {"-json"},
		"plimsoll refchat -admin-p":          {"-admin-password-env"},
		"plimsoll nonsense -":                nil,
	} {
		words := strings.Fields(line)
		script := `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); ` +
			`spec=$(complete -p plimsoll) || exit 3; fn=${spec#*-F }; "${fn%% *}"; printf '%s\n' "${COMPREPLY[@]}"`
		cmd := exec.CommandContext(
			t.Context(),
			bash,
			append(
				[]string{
					"--norc",
					"-c",
					script,
					"-",
					filepath.Join(dir, "completions", "plimsoll"),
				},
				words...)...)
		cmd.Dir = files
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got := strings.Fields(string(out))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s completes to %q, want %q", line, got, want)
		}
	}
}

// The other shells accept their files, where they are installed.
func TestOtherShellsReadTheirs(t *testing.T) {
	_, dir := made(t)
	for shell, name := range map[string]string{"zsh": "_plimsoll", "fish": "plimsoll.fish"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("no %s on this host", shell)
			continue
		}
		if out, err := exec.CommandContext(t.Context(), path, "-n", filepath.Join(dir, "completions", name)).CombinedOutput(); err != nil ||
			len(out) > 0 {
			t.Errorf("%s -n %s: %v\n%s", shell, name, err, out)
		}
	}
}

func TestHelpIsParsed(t *testing.T) {
	got := parse(
		"report",
		"usage: plimsoll report [flags] [-aa] RUN|last|trend\n  RUN...\n\none\ntwo\n\nflags:\n  -json\n        write it\n        twice\n  -out DIR\n        a directory\n  -x\tshort\n",
	)
	want := verb{
		name:  "report",
		usage: "plimsoll report [flags] [-aa] RUN|last|trend RUN...",
		short: "one two",
		words: []string{"last", "trend"},
		flags: []option{
			{"json", "", "write it twice"},
			{"out", "DIR", "a directory"},
			{"x", "", "short"},
		},
	}
	if got.usage != want.usage || got.short != want.short || !slices.Equal(got.words, want.words) ||
		!slices.Equal(got.flags, want.flags) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got = parse("refnull", "Usage of refnull:\n  -tls\n        serve TLS\n")
	if len(got.flags) != 1 || got.usage != "plimsoll refnull [flags]" {
		t.Errorf("got %+v", got)
	}
	if got, want := listed("usage:\n\n  run        one\n             trial\n  show       x\n", "run"), "one trial"; got != want {
		t.Errorf("the list says %q, want %q", got, want)
	}
}
