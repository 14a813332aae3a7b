package plain

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

const (
	mostHeld = 1 << 20 // bytes of a line that are held back until it ends
	overlap  = 4 << 10 // of those, the part that a secret may reach into
)

// A LineWriter passes text on, line by line, after [Secrets.Redact] and [Lines]. The text after the
// last newline is held back until its line ends or [LineWriter.Flush] is called, so that neither a
// secret nor a character is missed because it came in two parts; a line of more than 1 MiB is
// passed on in parts. It is for text: bytes that are not UTF-8 arrive quoted.
//
// It is safe for concurrent use; a line that is written in several parts may have lines of other
// writers between them.
type LineWriter struct {
	w       io.Writer
	secrets *Secrets

	mu   sync.Mutex
	held []byte
}

// NewLineWriter returns a writer to w that replaces the secrets, which may be added to and may be
// nil.
func NewLineWriter(w io.Writer, secrets *Secrets) *LineWriter {
	return &LineWriter{w: w, secrets: secrets}
}

// Write implements [io.Writer]. An error of the writer below is returned once; without one, n is
// len(p).
func (w *LineWriter) Write(p []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = append(w.held, p...)
	if end := bytes.LastIndexByte(w.held, '\n') + 1; end > 0 {
		err = w.pass(end)
	} else if len(w.held) > mostHeld {
		end := len(w.held) - overlap
		for end > 0 && !utf8.RuneStart(w.held[end]) {
			end--
		}
		err = w.pass(end)
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on the held text.
func (w *LineWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pass(len(w.held))
}

// pass writes the first bytes of the held text. The lock is held.
func (w *LineWriter) pass(end int) error {
	if end == 0 {
		return nil
	}
	text := Lines(w.secrets.Redact(string(w.held[:end])))
	w.held = append(w.held[:0], w.held[end:]...)
	if cap(w.held) > mostHeld {
		w.held = bytes.Clone(w.held)
	}
	_, err := io.WriteString(w.w, text)
	return err
}
