package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/files"
	"plimsoll/load/workload"
	"plimsoll/studies/study"
)

// good is a try that held.
func good() Try {
	return Try{
		Date:       time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC),
		Users:      1000,
		Ramp:       4,
		Agents:     2,
		Servers:    2,
		Held:       1000,
		Seconds:    60,
		Sockets:    1000,
		Operations: 6000,
		LagP99:     3,
		LagMax:     20,
		AgentCores: 0.4,
		Posted:     50,
		Ledger:     workload.LedgerCount{Acked: 49, Judged: 40, Unnamed: 1, Foreign: 1200},
		Pushed:     1200,
		Received:   1200,
	}
}

// Each way in which users are not held is found, and named.
func TestCheck(t *testing.T) {
	ok := good()
	if err := ok.check(); err != nil {
		t.Errorf("a try that held: %v", err)
	}
	for want, spoil := range map[string]func(*Try){
		"999 of 1000 users were there":       func(t *Try) { t.Held = 999 },
		"1 had given up":                     func(t *Try) { t.Failed = 1 },
		"998 WebSockets open":                func(t *Try) { t.Sockets = 998 },
		"3 of 6000 operations failed":        func(t *Try) { t.Errors = 3 },
		"lag at p99 was 70 ms":               func(t *Try) { t.LagP99 = 70 },
		"the servers accepted 51 messages":   func(t *Try) { t.Posted = 51 },
		"the servers accepted 50 messages":   func(t *Try) { t.Ledger.Repeated = 1 },
		"pushed 1201 events, and users read": func(t *Try) { t.Pushed++ },
	} {
		row := good()
		spoil(&row)
		if err := row.check(); err == nil ||
			!strings.Contains(strings.ReplaceAll(err.Error(), "the users", "users"), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A try goes into the file and into the page's table behind the earlier ones; what stands around
// the table stays.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, page), []byte("before\n"+study.Part(tablePart, "old")+"\nbehind\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stopped := good()
	stopped.Users, stopped.Stopped = 5000, "no room | left"
	for _, row := range []Try{good(), stopped} {
		if err := errors.Join(study.Append(filepath.Join(dir, dataFile), row), write(dir)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, page))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	rows := []string{
		"before\n",
		"| 1000 | 4 s | 1000 | 60 s | 2, 2 | 2000 | 6000 | 0 | 3.0, 20 ms |",
		"| held, ledger exact |",
		"| 5000 |",
		"NOT HELD: no room / left",
		"behind\n",
	}
	at := 0
	for _, row := range rows {
		i := strings.Index(text[at:], row)
		if i < 0 {
			t.Fatalf("%q is missing, or not in its place:\n%s", row, text)
		}
		at += i
	}
	if strings.Contains(text, "old") {
		t.Errorf("the table before is still there:\n%s", text)
	}
}

func TestArguments(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-users=0", "-users 0"},
		{"-users=5000 -agents=1 -files=4000", "1 agents and 3 servers: want at least 3 each"},
		{"-files=600", "-files 600"},
		{"-agent-cores=x", "want comma-separated numbers"},
		{"more", "there are no arguments"},
	} {
		if err := run(t.Context(), strings.Fields(tt.args)); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.args, err, tt.want)
		}
	}
}

// TestPage holds the table of the results to the tries beside it.
func TestPage(t *testing.T) {
	const dir = "../results"
	text, err := os.ReadFile(filepath.Join(dir, page))
	if err != nil {
		t.Fatal(err)
	}
	all, err := files.ReadJSONLines[Try](filepath.Join(dir, dataFile))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), study.Part(tablePart, table(all))) {
		t.Errorf(
			"the table of %s is not that of %s: bin/fleet100k -table -results=studies/results",
			page,
			dataFile,
		)
	}
}
