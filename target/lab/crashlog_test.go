package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"plimsoll/internal/failure"
)

// Lines that report a crash are distinguished from lines that only quote such words.
func TestCrashLines(t *testing.T) {
	const pg, my = KindPostgreSQL, KindMySQL
	at := "2026-11-23 03:00:00.000 UTC [42] "
	for _, tt := range []struct {
		kind, line string
		crash      bool
	}{
		{pg, at + "LOG:  server process (PID 77) was terminated by signal 9: Killed", true},
		{pg, at + "LOG:  background writer process (PID 77) was terminated by signal 11: Segmentation fault", true},
		{pg, at + "LOG:  server process (PID 77) exited with exit code 2", true},
		{pg, at + "LOG:  all server processes terminated; reinitializing", true},
		{pg, at + "LOG:  database system was interrupted; last known up at 2026-11-23 02:59:00 UTC", true},
		{pg, at + "LOG:  database system was not properly shut down; automatic recovery in progress", true},
		{pg, at + "LOG:  database system is ready to accept connections", true},
		{pg, at + "LOG:  received fast shutdown request", true},
		{pg, at + "PANIC:  could not write to file \"pg_wal/x\": No space left on device", true},
		{pg, at + "LOG:  checkpoint complete: wrote 5 buffers", false},
		{pg, at + "LOG:  background worker \"logical replication launcher\" (PID 9) exited with exit code 1", false},
		{pg, at + "ERROR:  invalid input: \"LOG:  server process (PID 77) was terminated by signal 9: Killed\"", false},
		{pg, at + "STATEMENT:  INSERT INTO posts VALUES ('LOG:  all server processes terminated; reinitializing')", false},
		{pg, "\tLOG:  server process (PID 77) was terminated by signal 9: Killed", false},
		{pg, at + "FATAL:  terminating connection due to administrator command", false},
		{my, "2026-11-23  3:00:00 0 [Note] InnoDB: Starting crash recovery from checkpoint LSN=42", true},
		{my, "261123  3:00:00 [ERROR] mysqld got signal 11 ;", true},
		{my, "2026-11-23T03:00:00.000000Z 0 [System] [MY-010931] [Server] /usr/sbin/mysqld: ready for connections. Version: '8.0.36'", true},
		{my, "2026-11-23  3:00:00 0 [Note] /usr/sbin/mariadbd (initiated by: unknown): Normal shutdown", true},
		{my, "2026-11-23  3:00:00 9 [Warning] Access denied for user 'mysqld got signal 11'@'localhost'", false},
		{my, "2026-11-23  3:00:00 0 [Note] InnoDB: Buffer pool(s) load completed at 261123  3:00:00", false},
		{"", "panic: runtime error: index out of range [3] with length 0", true},
		{"", "fatal error: concurrent map writes", true},
		{"", "fatal error: runtime: out of memory", true},
		{"", "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x1]", true},
		{"", "2026/11/23 03:00:00 http: panic serving 127.0.0.1:5000: boom", true},
		{"", `time=2026-11-23T03:00:00.000Z level=WARN msg="http: panic serving 127.0.0.1:5000: boom"`, true},
		{"", `time=2026-11-23T03:00:00.000Z level=WARN msg="a post" text="panic: help"`, false},
		{"", `{"timestamp":"x","level":"error","msg":"Recovered from a panic","caller":"app/server.go:12"}`, true},
		{"", `{"timestamp":"x","level":"panic","msg":"cannot go on"}`, true},
		{"", `{"timestamp":"x","level":"info","msg":"message posted","text":"panic: fatal error: everyone out"}`, false},
		{"", "2026/11/23 03:00:00 [alert] 7#7: worker process 9 exited on signal 11 (core dumped)", true},
		{"", "[ALERT]    (7) : Current worker (9) exited with code 139 (Segmentation fault)", true},
		{"", "[NOTICE]   (7) : Current worker (9) exited with code 0 (Exit)", false},
		{"", "# A fatal error has been detected by the Java Runtime Environment:", true},
		{"", "java.lang.OutOfMemoryError: Java heap space", true},
		{"", "thread 'main' panicked at src/main.rs:3:5:", true},
		{"", "thread 'main' says hello", false},
		{"", "user alice wrote: panic: fatal error: SIGSEGV", false},
		{"", "GET /panic: 200", false},
		{"", "", false},
	} {
		what, crash := crashLine(tt.kind, []byte(tt.line))
		if crash != tt.crash || crash != (what != "") {
			t.Errorf("%s %q: %v %q, want %v", tt.kind, tt.line, crash, what, tt.crash)
		}
	}
}

// A log may hold lines without an end, grow faster than it is read, be emptied, and hold control
// sequences of terminals: each line is read once, in bounded memory, and skipped bytes are counted.
func TestFollowedLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.log")
	add := func(s string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		failure.None(t, err)
		failure.None(t, failure.Of(f.WriteString(s)))
		failure.None(t, f.Close())
	}
	add("panic: of before\n")
	l := openLog(path)
	var lines []string
	look := func(last bool) string {
		lines = nil
		l.read(last, func(line []byte) {
			if len(line) > mostLine {
				t.Errorf("a line of %d bytes", len(line))
			}
			lines = append(lines, string(line[:min(len(line), 10)]))
		})
		return strings.Join(lines, "|")
	}
	if got := look(false); got != "" {
		t.Errorf("what was there before is read: %s", got)
	}
	add("one\r\ntwo\nthr")
	if got := look(false); got != "one|two" {
		t.Errorf("read %q", got)
	}
	add("ee\n")
	if got := look(false); got != "three" {
		t.Errorf("read %q", got)
	}
	add(strings.Repeat("x", 3*mostLine) + "\nafter\n")
	if got := look(false); got != "xxxxxxxxxx|after" {
		t.Errorf("read %q", got)
	}
	add(strings.Repeat("y", mostLine+7)) // without an end
	if got := look(false); got != "yyyyyyyyyy" {
		t.Errorf("read %q", got)
	}
	add(strings.Repeat("y", mostLine) + "\nfour\n")
	if got := look(false); got != "four" {
		t.Errorf("read %q", got)
	}
	add("last words")
	if got := look(false); got != "" {
		t.Errorf("read %q", got)
	}
	if got := look(true); got != "last words" {
		t.Errorf("read %q", got)
	}
	if l.skipped != 0 {
		t.Errorf("%d bytes skipped", l.skipped)
	}
	add("\n" + strings.Repeat(strings.Repeat("z", 99)+"\n", (mostRead+1<<20)/100) + "end\n")
	if got := look(false); !strings.HasSuffix(got, "|end") || l.skipped < 1<<20-200 ||
		cap(l.buf) > 64<<10 {
		t.Errorf("%d bytes skipped, %d lines, a buffer of %d", l.skipped, len(lines), cap(l.buf))
	}
	failure.None(t, os.WriteFile(path, []byte("anew\n"), 0o600))
	if got := look(false); got != "anew" {
		t.Errorf("of an emptied log: %q", got)
	}
	failure.None(t, os.Remove(path))
	if got := look(true); got != "" {
		t.Errorf("of no log: %q", got)
	}
	shown := printable([]byte("a\x1b]0;x\x07\tb\"\xff" + strings.Repeat("ä", mostText)))
	for _, r := range shown {
		if !unicode.IsPrint(r) {
			t.Errorf("%q holds %U", shown, r)
		}
	}
	if len(shown) > 2*mostText {
		t.Errorf("%d bytes shown", len(shown))
	}
}

// However many different crashes a program invents, few are kept.
func TestCrashesAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db.log")
	failure.None(t, os.WriteFile(path, nil, 0o600))
	c := FollowCrashes([]Watched{{
		Role: "db",
		PID:  os.Getpid(),
		Kind: KindPostgreSQL,
		Logs: []string{path},
	}})
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(
			&b,
			"2026-11-23 UTC [1] LOG:  server process (PID 7) was terminated by signal %d: x\n",
			i,
		)
		b.WriteString("2026-11-23 UTC [1] LOG:  all server processes terminated; reinitializing\n")
	}
	failure.None(t, os.WriteFile(path, []byte(b.String()), 0o600))
	fresh := c.Look(c.all[0].began, true)
	kept, more := c.All()
	if len(kept) != mostCrashes || len(fresh) != mostCrashes || more != 500+1-mostCrashes {
		t.Errorf("%d kept, %d fresh, %d more", len(kept), len(fresh), more)
	}
	if x := kept[1]; x.Times != 500 || !strings.Contains(x.String(), "(500 times)") ||
		!strings.HasPrefix(x.String(), "db: the database server ended all sessions") {
		t.Errorf("%v", x)
	}
}
