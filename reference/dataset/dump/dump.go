package dump

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/built"
	"plimsoll/internal/files"
	"plimsoll/internal/parallel"
	"plimsoll/reference/dataset"
)

// Names in the directory of a dump.
const (
	manifestFile = "dataset.json"
	dataDir      = "data"
	filesDir     = "files"
)

// format is the version of the manifest.
const format = 1

// A Manifest describes a dump.
type Manifest struct {
	Format   int       `json:"format"`
	Made     time.Time `json:"made"`
	Tool     string    `json:"tool"`     // version of the program that made it
	Engine   string    `json:"engine"`   // postgresql or mysql: the protocol
	Server   string    `json:"server"`   // the server's own name and version
	Database string    `json:"database"` // name of the database in it
	// version of the reference server's schema, if it is that
	Schema  string        `json:"schema,omitempty"`
	Spec    *dataset.Spec `json:"spec,omitempty"` // the spec, if it was generated
	SpecSum string        `json:"spec_sha256"`    // the spec's digest; empty without one
	Origin  string        `json:"origin"`         // in words
	// settings while loading; none of them stayed
	Loading   map[string]string `json:"loading,omitempty"`
	Seconds   map[string]string `json:"seconds,omitempty"` // how long the steps of making it took
	Tables    []Table           `json:"tables"`            // in the order of their names
	DataBytes int64             `json:"bytes"`             // of all files
	// of data and files, in the order of their names
	Files    []File            `json:"files"`
	Settings map[string]string `json:"settings,omitempty"` // of the server after loading
}

// A File is one file of a dump.
type File struct {
	Path   string `json:"path"` // below the dump, with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// A Dump is a directory that [Seal] has finished.
type Dump struct {
	Dir      string
	Manifest Manifest
	digest   string
}

// Data is the directory with the server's data.
func (d *Dump) Data() string { return filepath.Join(d.Dir, dataDir) }

// Files is the directory with attachments; "" if there are none.
func (d *Dump) Files() string {
	dir := filepath.Join(d.Dir, filesDir)
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// Digest is the SHA-256 of the manifest in hexadecimal; through the manifest it is one of all data.
func (d *Dump) Digest() string { return d.digest }

// Create makes the directory of a new dump beside dir, in which the caller puts data and
// attachments; [Seal] then moves it to dir. So dir is whole or not there. Nothing may be at dir.
func Create(dir string) (data, files string, err error) {
	if _, err := os.Lstat(dir); err == nil {
		return "", "", fmt.Errorf("%s exists already; name another directory, or remove it", dir)
	}
	part := partOf(dir)
	for _, old := range append(abandoned(dir), part) {
		if err := os.RemoveAll(old); err != nil {
			return "", "", fmt.Errorf("making a dump: %w", err)
		}
	}
	if err := os.MkdirAll(part, 0o755); err != nil {
		return "", "", fmt.Errorf("making a dump: %w", err)
	}
	return filepath.Join(part, dataDir), filepath.Join(part, filesDir), nil
}

// Abandon removes the unfinished dump of Create.
func Abandon(dir string) error { return os.RemoveAll(partOf(dir)) }

// partOf names the unfinished dump of this process: two may make the same one at a time, and the
// first wins.
func partOf(dir string) string { return filepath.Clean(dir) + ".part-" + strconv.Itoa(os.Getpid()) }

// abandoned lists the unfinished dumps of processes that were killed.
func abandoned(dir string) (parts []string) {
	prefix := filepath.Base(dir) + ".part-"
	// an unreadable directory is left alone
	entries, _ := os.ReadDir(filepath.Dir(filepath.Clean(dir)))
	for _, e := range entries {
		pid, ok := strings.CutPrefix(e.Name(), prefix)
		if n, err := strconv.Atoi(pid); ok && err == nil &&
			errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			parts = append(parts, filepath.Join(filepath.Dir(filepath.Clean(dir)), e.Name()))
		}
	}
	return parts
}

// Seal finishes a dump that Create began: it sums all files and writes the manifest.
func Seal(ctx context.Context, dir string, m Manifest) (*Dump, error) {
	part := partOf(dir)
	sums, err := sumTree(ctx, part)
	if err != nil {
		return nil, fmt.Errorf("sealing a dump: %w", err)
	}
	m.Format = format
	m.Files = sums
	m.DataBytes = 0
	for _, f := range sums {
		m.DataBytes += f.Bytes
	}
	b, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, fmt.Errorf("sealing a dump: %w", err)
	}
	if err := os.WriteFile(filepath.Join(part, manifestFile), append(b, '\n'), 0o644); err != nil {
		return nil, fmt.Errorf("sealing a dump: %w", err)
	}
	err = files.SyncAll(files.OS{}, part)
	if err == nil {
		err = files.OS{}.Rename(part, dir)
	}
	if err == nil {
		err = files.OS{}.Sync(filepath.Dir(dir))
	}
	if err != nil {
		return nil, fmt.Errorf("sealing a dump: %w", err)
	}
	return Open(dir)
}

// ErrNoDump is returned by Open for a directory that is not a dump.
var ErrNoDump = errors.New("this is no dump: there is no " + manifestFile)

// Open reads the manifest of a dump.
func Open(dir string) (*Dump, error) {
	manifest := filepath.Join(dir, manifestFile)
	b, err := files.Read(manifest, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w%s", dir, ErrNoDump, dumpsIn(dir))
	}
	if err != nil {
		return nil, fmt.Errorf("opening a dump: %w", err)
	}
	d := &Dump{Dir: dir}
	if err := built.NewerJSON(b, "", format); err != nil {
		return nil, fmt.Errorf("%s: %w", manifest, err)
	}
	if err := json.Unmarshal(b, &d.Manifest); err != nil {
		return nil, fmt.Errorf("%s: the manifest cannot be read: %w", manifest, err)
	}
	if d.Manifest.Format != format {
		return nil, fmt.Errorf(
			"%s: format %d, this program knows %d; make the dump again",
			manifest,
			d.Manifest.Format,
			format,
		)
	}
	sum := sha256.Sum256(b)
	d.digest = hex.EncodeToString(sum[:])
	return d, nil
}

// dumpsIn tells, behind an error, which dumps a directory has, one for each engine.
func dumpsIn(dir string) string {
	found, err := filepath.Glob(filepath.Join(dir, "*", manifestFile))
	if err != nil || len(found) == 0 {
		return ""
	}
	for i, name := range found {
		found[i] = filepath.Dir(name)
	}
	return "; name one of " + strings.Join(found, ", ")
}

// For returns the dump of an engine: dir itself, or the directory in it of the engine's name. It is
// [Dump.Whole].
func For(dir, engine string) (*Dump, error) {
	d, err := Open(dir)
	if errors.Is(err, ErrNoDump) {
		if d, err = Open(filepath.Join(dir, engine)); errors.Is(err, ErrNoDump) {
			return nil, fmt.Errorf(
				"%s: %w, nor is there one in a directory %s of it",
				dir,
				ErrNoDump,
				engine,
			)
		}
	}
	if err != nil {
		return nil, err
	}
	if d.Manifest.Engine != engine {
		return nil, fmt.Errorf(
			"%s holds data of %s, not of %s; generate one for that, or name a directory that has both",
			d.Dir,
			d.Manifest.Engine,
			engine,
		)
	}
	if err := d.Whole(); err != nil {
		return nil, err
	}
	return d, nil
}

// Whole returns an error if a file of the manifest is missing or has another size, as in a dump
// that was copied in part. It reads no contents: [Dump.VerifyFiles] does.
func (d *Dump) Whole() error {
	for _, f := range d.Manifest.Files {
		found := "is missing"
		switch st, err := os.Stat(filepath.Join(d.Dir, filepath.FromSlash(f.Path))); {
		case err == nil && st.Size() == f.Bytes:
			continue
		case err == nil:
			found = fmt.Sprintf("has %d bytes, the manifest has %d", st.Size(), f.Bytes)
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("looking for the files of a dump: %w", err)
		}
		return fmt.Errorf(
			"%s is not whole: %s %s; copy it again, or remove it and make it again",
			d.Dir,
			f.Path,
			found,
		)
	}
	return nil
}

// VerifyFiles compares all files with the manifest and returns the differences, one line each.
func (d *Dump) VerifyFiles(ctx context.Context) (problems []string, err error) {
	have, err := sumTree(ctx, d.Dir)
	if err != nil {
		return nil, fmt.Errorf("reading a dump: %w", err)
	}
	return compare(d.Manifest.Files, have, func(f File) string { return f.Path },
		func(want, got File) string {
			switch {
			case got.Bytes != want.Bytes:
				return fmt.Sprintf("has %d bytes, the manifest has %d", got.Bytes, want.Bytes)
			case got.SHA256 != want.SHA256:
				return otherContents
			}
			return ""
		}), nil
}

const otherContents = "has other contents than the manifest says"

// compare returns the differences between the things of a manifest and those that are there, one
// line each; differ describes one, "" for none.
func compare[T any](
	want, have []T,
	name func(T) string,
	differ func(want, got T) string,
) (problems []string) {
	found := map[string]T{}
	for _, x := range have {
		found[name(x)] = x
	}
	for _, w := range want {
		got, ok := found[name(w)]
		delete(found, name(w))
		difference := "is missing"
		if ok {
			difference = differ(w, got)
		}
		if difference != "" {
			problems = append(problems, name(w)+" "+difference)
		}
	}
	for n := range found {
		problems = append(problems, n+" does not belong to the dump")
	}
	slices.Sort(problems)
	return problems
}

// sumTree lists the regular files below dir, except the manifest, with their sums.
func sumTree(ctx context.Context, dir string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil && rel != manifestFile {
			files = append(files, File{Path: filepath.ToSlash(rel)})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	err = parallel.Each(len(files), func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return sumFile(filepath.Join(dir, files[i].Path), &files[i])
	})
	return files, err
}

func sumFile(path string, f *File) error {
	in, err := files.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	h := sha256.New()
	if f.Bytes, err = io.CopyBuffer(h, in, make([]byte, 1<<20)); err != nil {
		return err
	}
	f.SHA256 = hex.EncodeToString(h.Sum(nil))
	return nil
}
