package plain

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

const (
	mostHeld = 1 << 20 // bytes of a line that are held back until it ends
	overlap  = 4 << 10 // of those, what a secret may reach into
)

// A Writer passes text on, line by line, after [Secrets.Redact] and [Lines]. What stands after the last newline is held back until its
// line ends or [Writer.Flush] is called, so that neither a secret nor a character is missed because it came in two parts; a line of more
// than 1 MiB is passed on in parts. It is for text: bytes that are no UTF-8 arrive quoted.
//
// It is safe for concurrent use; whoever writes a line in several parts may find one of others between them.
type Writer struct {
	w       io.Writer
	secrets *Secrets

	mu   sync.Mutex
	held []byte
}

// NewWriter returns a writer to w that replaces the secrets, which may be added to and may be nil.
func NewWriter(w io.Writer, secrets *Secrets) *Writer { return &Writer{w: w, secrets: secrets} }

// Write implements [io.Writer]. An error of the writer below is returned once; n says that all was taken.
func (w *Writer) Write(p []byte) (n int, err error) {
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

// Flush passes on what is held back.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pass(len(w.held))
}

// pass writes the first bytes of what is held. The lock is held.
func (w *Writer) pass(end int) error {
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
