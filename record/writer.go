package record

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/load/measure"
)

// Names of a run's files below its directory.
const (
	ManifestFile = "manifest.json"
	WindowsFile  = "windows.hdr"
	EventsFile   = "events.jsonl"
	ValidityFile = "validity.json"
	SeriesDir    = "series"
)

// A Writer puts a run on disk while it happens. Its methods are safe for concurrent use.
type Writer struct {
	dir      string
	disk     Disk
	mu       sync.Mutex
	manifest Manifest
	windows  io.WriteCloser
	ww       *WindowWriter
	events   io.WriteCloser
	closed   bool
	secrets  *plain.Secrets
	lines    int                     // of events
	heard    func(line int, e Event) // may be nil
}

// Create is [CreateOn] without secrets, on the file system of this host.
func Create(dir string, m Manifest) (*Writer, error) { return CreateOn(OS{}, dir, m, nil) }

// CreateOn makes the directory, which must not exist and which only this user may enter, and opens
// a run in it in state Running. The secrets are removed from all that it writes; more may be added
// while the run goes on. Its texts are plain.
func CreateOn(disk Disk, dir string, m Manifest, secrets *plain.Secrets) (*Writer, error) {
	if err := files.MkdirAll(disk, filepath.Dir(dir)); err != nil {
		return nil, err
	}
	if err := disk.Mkdir(dir); err != nil {
		return nil, fmt.Errorf("creating run: %w", err)
	}
	m.Format, m.State = FormatVersion, Running
	w := &Writer{dir: dir, disk: disk, manifest: m, secrets: secrets}
	if err := errors.Join(disk.Sync(filepath.Dir(dir)), w.json(ManifestFile, m)); err != nil {
		return nil, err
	}
	var err error
	if w.windows, err = disk.Create(filepath.Join(dir, WindowsFile), false); err != nil {
		return nil, err
	}
	if w.ww, err = NewWindowWriter(w.windows); err != nil {
		return nil, errors.Join(err, w.windows.Close())
	}
	if w.events, err = disk.Create(filepath.Join(dir, EventsFile), false); err != nil {
		return nil, errors.Join(err, w.windows.Close())
	}
	return w, nil
}

// json writes one of the run's files.
func (w *Writer) json(name string, v any) error {
	return WriteJSONTo(w.disk, filepath.Join(w.dir, name), v, w.secrets)
}

// add writes a file of its own to a run that is still recorded.
func (w *Writer) add(name string, v any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return os.ErrClosed
	}
	return w.json(name, v)
}

// mostText bounds a text of an event or a finding, in bytes: it may be of the target's making.
const mostText = 16 << 10

// text returns the written form of a text: one line, without secrets.
func (w *Writer) text(s string) string { return plain.Excerpt(w.secrets.Redact(s), mostText) }

// Dir returns the run's directory.
func (w *Writer) Dir() string { return w.dir }

// Manifest returns a copy of the manifest as it stands.
func (w *Writer) Manifest() Manifest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.manifest
}

// Update changes the manifest and writes it at once.
func (w *Writer) Update(change func(*Manifest)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.manifest)
	return w.json(ManifestFile, w.manifest)
}

// Windows appends one second's histograms.
func (w *Writer) Windows(second int, ws []*measure.Window) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return os.ErrClosed
	}
	return w.ww.Write(second, ws)
}

// Event appends one event. Its text becomes one line of at most 16 KiB.
func (w *Writer) Event(e Event) error {
	e.Text = w.text(e.Text)
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("event %s: %w", e.Kind, err)
	}
	b = w.secrets.JSON(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return os.ErrClosed
	}
	if _, err = w.events.Write(append(b, '\n')); err != nil {
		return err
	}
	if w.lines++; w.heard != nil {
		w.heard(w.lines, e)
	}
	return nil
}

// Hear calls f for every event that is written from now on, with the number of its line, from 1. f
// returns at once and calls no method of the writer.
func (w *Writer) Hear(f func(line int, e Event)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = f
}

// Seal ends the run: it writes validity.json, the digests of all files, and the state. With a why,
// the state is Interrupted, otherwise Sealed. It returns the digest of the sealed manifest. The
// series directory must be closed. A manifest that is sealed is on disk after everything whose
// digest it has: no power failure leaves a sealed run that lacks something.
func (w *Writer) Seal(ctx context.Context, v Validity, why string) (digest string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return "", os.ErrClosed
	}
	w.closed = true
	err = errors.Join(w.windows.Close(), w.events.Close())
	w.manifest.State, w.manifest.Why = Sealed, w.text(why)
	if why != "" {
		w.manifest.State = Interrupted
		v.Valid = false
	}
	if v.Findings == nil {
		v.Findings = []Finding{}
	}
	v.Findings = slices.Clone(v.Findings)
	for i := range v.Findings {
		v.Findings[i].Text = w.text(v.Findings[i].Text)
	}
	err = errors.Join(err, w.json(ValidityFile, v), private(w.dir), files.SyncAll(w.disk, w.dir))
	sums, ferr := digests(w.dir, all)
	w.manifest.Files = sums
	if err = errors.Join(err, ferr); err == nil {
		err = writeDigested(w.disk, filepath.Join(w.dir, ManifestFile), &w.manifest, w.secrets)
	}
	if err != nil {
		return "", fmt.Errorf("sealing run %s: %w", w.manifest.ID, err)
	}
	return DigestFile(filepath.Join(w.dir, ManifestFile))
}

// private takes the permissions of others from everything below dir: libraries make files with the
// usual permissions.
func private(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.Chmod(path, 0o700)
		case d.Type().IsRegular():
			return os.Chmod(path, 0o600)
		}
		return nil
	})
}

// all selects every file.
func all(string) bool { return true }

// digests returns the SHA-256 of the files below dir for which looked returns true, except the
// manifest.
func digests(dir string, looked func(name string) bool) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		name := filepath.ToSlash(rel)
		if err != nil || name == ManifestFile || !looked(name) {
			return err
		}
		out[name], err = DigestFile(path)
		return err
	})
	return out, err
}

// DigestFile returns "sha256:" and the hexadecimal digest of a file.
func DigestFile(path string) (string, error) {
	f, err := files.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return digestText(h.Sum(nil)), nil
}
