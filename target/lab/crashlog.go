package lab

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"

	"plimsoll/internal/plain"
)

// Limits of reading a log, which a hostile program may fill as it likes.
const (
	mostLine = 8 << 10  // bytes of a line that are examined
	mostRead = 4 << 20  // bytes of a log that one look reads
	mostLast = 64 << 20 // that the last look reads
	mostText = 300      // bytes of a line that are shown
)

// A followedLog is a log file and how far it was read.
type followedLog struct {
	path    string
	at      int64 // the next byte to read
	skipped int64 // bytes that were not read
	inside  bool  // the bytes at at belong to a line whose beginning was examined
	buf     []byte
}

// openLog begins at the present end of the file.
func openLog(path string) *followedLog {
	l := &followedLog{path: path}
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
		l.at = st.Size()
	}
	return l
}

// read calls f with each whole line that was added, without its end, at most mostLine bytes of it;
// f must not keep it. Of a log that grows faster than it is read the oldest part is skipped. A log
// that is shorter than before was emptied, and is read from its beginning. One that cannot be read
// is tried again.
func (l *followedLog) read(last bool, f func(line []byte)) {
	st, err := os.Stat(l.path)
	if err != nil || !st.Mode().IsRegular() {
		return
	}
	if st.Size() < l.at {
		l.at, l.inside = 0, false
	}
	file, err := os.Open(l.path)
	if err != nil {
		return
	}
	defer file.Close()
	budget := int64(mostRead)
	if last {
		budget = mostLast
	}
	if over := st.Size() - l.at - budget; over > 0 {
		l.skipped += over
		l.at += over
		l.inside = true // most likely in the middle of a line
	}
	if l.buf == nil {
		l.buf = make([]byte, 64<<10)
	}
	for budget > 0 {
		from := l.at
		n, err := file.ReadAt(l.buf, from)
		rest := l.buf[:n]
		for {
			line, after, whole := bytes.Cut(rest, []byte("\n"))
			if !whole {
				break
			}
			if !l.inside {
				f(bytes.TrimSuffix(line[:min(len(line), mostLine)], []byte("\r")))
			}
			l.inside = false
			l.at += int64(len(line) + 1)
			rest = after
		}
		switch {
		case len(rest) >= mostLine || last && err != nil && len(rest) > 0:
			// Longer than is examined, or the last output of a program.
			if !l.inside {
				f(rest[:min(len(rest), mostLine)])
			}
			l.inside = true
			l.at += int64(len(rest))
		case len(rest) == n && n < len(l.buf): // no whole line is there yet
			return
		}
		if err != nil { // most likely its end
			return
		}
		budget -= l.at - from
	}
}

// crashLine reports whether a line of a log records that its program, or a part of it, crashed,
// recovered or was restarted, and which of these. Lines may hold text of users, so words count only
// where the program itself puts them.
func crashLine(kind string, line []byte) (what string, ok bool) {
	switch kind {
	case KindPostgreSQL:
		return crashOfPostgreSQL(line)
	case KindMySQL:
		if what, ok := crashOfMySQL(line); ok {
			return what, ok
		}
	}
	return crashOfAny(line)
}

// crashOfPostgreSQL reads a line of the form PREFIX SEVERITY: MESSAGE. Further lines of an entry
// begin with a tab, and statements have a severity of their own. docs: "Error Reporting and
// Logging", and the messages of src/backend/postmaster/postmaster.c and access/transam/xlog.c.
func crashOfPostgreSQL(line []byte) (string, bool) {
	head, message, ok := bytes.Cut(line, []byte(":  "))
	if !ok || len(line) == 0 || line[0] == '\t' || len(head) > 200 {
		return "", false
	}
	severity := head[bytes.LastIndexByte(head, ' ')+1:]
	m := string(message[:min(len(message), 200)])
	switch string(severity) {
	case "PANIC":
		return "the database server panicked", true
	case "LOG":
	default:
		return "", false
	}
	switch {
	case strings.Contains(m, " was terminated by "):
		_, how, _ := strings.Cut(m, " was terminated by ")
		return "a process of the database server was terminated by " + printable([]byte(how)), true
	case strings.HasPrefix(m, "server process (PID ") && strings.Contains(m, " exited with exit code "):
		return "a process of the database server crashed", true
	case strings.HasPrefix(m, "all server processes terminated; reinitializing"):
		return "the database server ended all sessions and started anew after a crash", true
	case strings.HasPrefix(m, "database system was interrupted"),
		strings.HasPrefix(m, "database system was not properly shut down"):
		return "the database server recovered from a crash", true
	case strings.HasPrefix(m, "received ") && strings.HasSuffix(m, " shutdown request"):
		return "the database server was told to stop", true
	case strings.HasPrefix(m, "database system is ready to accept"):
		return "the database server was started anew", true
	}
	return "", false
}

// mysqlSigns are the texts that MySQL and MariaDB write.
var mysqlSigns = []struct{ sign, what string }{
	{"mysqld got signal ", "the database server crashed"},
	{"mysqld got exception ", "the database server crashed"},
	{"mariadbd got signal ", "the database server crashed"},
	{"InnoDB: Assertion failure", "the database server crashed"},
	{"InnoDB: Starting crash recovery", "the database server recovered from a crash"},
	{"InnoDB: Database was not shut", "the database server recovered from a crash"},
	{"Crash recovery finished", "the database server recovered from a crash"},
	{"Starting crash recovery", "the database server recovered from a crash"},
	{": ready for connections", "the database server was started anew"},
	{"(initiated by: ", "the database server was told to stop"},
}

// crashOfMySQL examines the part of a line that the server writes itself: text that a client can
// put there, such as the name of a user, comes after a quote.
func crashOfMySQL(line []byte) (string, bool) {
	line = line[:min(len(line), 200)]
	if i := bytes.IndexAny(line, "'\""); i >= 0 {
		line = line[:i]
	}
	for _, s := range mysqlSigns {
		if bytes.Contains(line, []byte(s.sign)) {
			return s.what, true
		}
	}
	return "", false
}

// linesBegin are the beginnings of lines that report that a program crashed, whether it goes on or
// not: those of Go's runtime, of the C library and of others that write their last words so.
var linesBegin = []struct{ begin, what string }{
	{"panic: ", "it panicked"},
	{"fatal error: ", "it crashed"},
	{"runtime: out of memory", "it ran out of memory"},
	{"unexpected fault address ", "it crashed"},
	{"SIGSEGV: ", "it crashed"},
	{"SIGABRT: ", "it crashed"},
	{"SIGBUS: ", "it crashed"},
	{"[signal SIG", "it crashed"},
	{"Segmentation fault", "it crashed"},
	{"# A fatal error has been detected by the Java Runtime Environment", "it crashed"},
	{"java.lang.OutOfMemoryError", "it ran out of memory"},
	{"Terminating due to java.lang.OutOfMemoryError", "it ran out of memory"},
	{"FATAL ERROR: ", "it crashed"}, // Node.js
	{"thread '", "it panicked"},     // Rust: thread 'main' panicked at …
	{"=== REDIS BUG REPORT START", "it crashed"},
}

// crashOfAny looks for crash messages that programs of any kind write.
func crashOfAny(line []byte) (string, bool) {
	if len(line) == 0 {
		return "", false
	}
	if line[0] == '{' {
		return crashOfJSON(line)
	}
	for _, l := range linesBegin {
		if bytes.HasPrefix(line, []byte(l.begin)) &&
			(l.begin != "thread '" || bytes.Contains(line, []byte("' panicked at "))) {
			return l.what, true
		}
	}
	// After a date, at most: Go's net/http survives a panic of a request, and nginx and HAProxy the
	// end of a worker.
	head := line[:min(len(line), 200)]
	if i := bytes.Index(head, []byte("panic serving ")); i >= 0 && i <= 40 &&
		!bytes.ContainsAny(head[:i], "\"'") {
		return "a request ended in a panic", true
	}
	// Go's slog
	if bytes.HasPrefix(head, []byte("time=")) || bytes.HasPrefix(head, []byte("level=")) {
		_, msg, _ := bytes.Cut(head, []byte(`msg="`))
		for _, sign := range []string{"http: panic serving ", "panic", "recovered from "} {
			if bytes.HasPrefix(bytes.ToLower(msg), []byte(sign)) {
				return "it panicked", true
			}
		}
	}
	for _, worker := range []string{"worker process ", "Current worker ", "Worker "} {
		if i := bytes.Index(head, []byte(worker)); i >= 0 && i <= 80 &&
			!bytes.ContainsAny(head[:i], "\"'") {
			rest := head[i:]
			if bytes.Contains(rest, []byte(" exited on signal ")) ||
				bytes.Contains(rest, []byte(" exited with code ")) &&
					!bytes.Contains(rest, []byte(" exited with code 0")) {
				return "a worker process crashed", true
			}
		}
	}
	return "", false
}

// crashOfJSON examines the message of a structured line, which is the program's own; other members
// may hold text of users.
func crashOfJSON(line []byte) (string, bool) {
	if !bytes.Contains(line, []byte("anic")) && !bytes.Contains(line, []byte("fatal error")) {
		return "", false
	}
	var entry struct {
		Msg     string `json:"msg"`
		Message string `json:"message"`
		Level   string `json:"level"`
	}
	if json.Unmarshal(line, &entry) != nil {
		return "", false
	}
	level := strings.ToLower(entry.Level)
	for _, m := range []string{entry.Msg, entry.Message} {
		m = strings.ToLower(m[:min(len(m), 200)])
		switch {
		case level == "panic" || strings.HasPrefix(m, "panic"),
			strings.HasPrefix(m, "recovered from"),
			strings.HasPrefix(m, "fatal error: "),
			strings.HasPrefix(m, "http: panic serving"):
			return "it panicked", true
		}
	}
	return "", false
}

// printable returns one line of a log as text that a terminal and a report can show.
func printable(b []byte) string {
	return plain.Excerpt(
		string(bytes.ReplaceAll(b[:min(len(b), 2*mostText)], []byte("\t"), []byte(" "))),
		mostText,
	)
}

// LastLines returns the last n lines of an output.
func LastLines(output string, n int) string {
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
