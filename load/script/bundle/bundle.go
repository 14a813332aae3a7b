package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/grafana/sobek"
	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/parser"
)

// What a script may have at most.
const (
	maxSource = 16 << 20 // bytes of all files
	maxFiles  = 1000
	maxNested = 500 // brackets within brackets
	maxTime   = 30 * time.Second
)

// A Bundle is a script with all that it imports. It is portable as JSON, and safe for concurrent
// reading.
type Bundle struct {
	// Name is the name of the script's file, without its folder.
	Name string
	// Code is one script. Its value is a function of require, exports and module, as CommonJS has
	// them: require is called with the names of [Modules] only.
	Code string
	// Digest is "sha256:" and the hexadecimal SHA-256 of Code and Files.
	Digest string
	// Map is the source map of Code, version 3. Its sources are paths below the script's folder.
	Map []byte
	// Files holds what the script may open, by its path below the script's folder with slashes.
	Files map[string][]byte
	// Env lists the names that the script reads of __ENV, sorted.
	Env []string

	folder string // for Open; empty elsewhere than where the bundle was read
}

// Read reads the script of path, which ends in .js, .mjs, .ts or .mts. What is wrong with its text
// or its imports is a [*InvalidError].
func Read(path string) (*Bundle, error) {
	s, err := open(path)
	if err != nil {
		return nil, err
	}
	defer s.root.Close()
	out := s.build(nil)
	if len(out.wrong) > 0 {
		return nil, &InvalidError{Constructs: out.wrong}
	}
	b := &Bundle{Name: s.name, Code: out.code, Map: out.positions, folder: s.folder}
	tree, err := b.parse()
	if err != nil {
		return nil, b.invalid(err)
	}
	var wrong []Construct
	if b.Env, wrong = environment(tree); len(wrong) > 0 {
		return nil, &InvalidError{Constructs: sorted(wrong)}
	}
	if _, err := sobek.CompileAST(tree, true); err != nil {
		return nil, b.invalid(err)
	}
	b.Files = map[string][]byte{}
	b.seal()
	return b, nil
}

// Open returns the file that the script's open(name) reads and adds it to Files and to the digest.
// name counts from the script's folder. The errors of a path that leads out of the folder, of a
// directory and of too much data hold no absolute path. Where the bundle came as JSON, only what is
// in Files can be opened. Open is not safe for concurrent use.
func (b *Bundle) Open(name string) ([]byte, error) {
	clean := filepath.ToSlash(filepath.Clean(filepath.FromSlash(name)))
	if data, ok := b.Files[clean]; ok {
		return data, nil
	}
	if b.folder == "" {
		return nil, fmt.Errorf("open(%q): the init code did not open this file where the run was "+
			"prepared; open it there, under a name that is the same everywhere", name)
	}
	root, err := os.OpenRoot(b.folder)
	if err != nil {
		return nil, fmt.Errorf("open(%q): %w", name, plainly(err))
	}
	defer root.Close()
	left := maxSource
	for _, data := range b.Files {
		left -= len(data)
	}
	if len(b.Files) >= maxFiles {
		return nil, fmt.Errorf("open(%q): the script opens more than %d files", name, maxFiles)
	}
	data, err := readBelow(root, clean, left)
	if err != nil {
		return nil, fmt.Errorf("open(%q): %w", name, err)
	}
	b.Files[clean] = data
	b.seal()
	return data, nil
}

// Program returns the code compiled for the engine. The positions of its errors are those of the
// sources.
func (b *Bundle) Program() (*sobek.Program, error) {
	tree, err := b.parse()
	if err != nil {
		return nil, b.invalid(err)
	}
	p, err := sobek.CompileAST(tree, true)
	if err != nil {
		return nil, b.invalid(err)
	}
	return p, nil
}

// seal sets the digest.
func (b *Bundle) seal() {
	h := sha256.New()
	part := func(text []byte) {
		sum := sha256.Sum256(text)
		h.Write(sum[:])
	}
	part([]byte(b.Code))
	for _, name := range slices.Sorted(maps.Keys(b.Files)) {
		part([]byte(name))
		part(b.Files[name])
	}
	b.Digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// errOutside is the error of a path that leads out of the script's folder.
var errOutside = errors.New("is outside of the script's folder; copy it there")

// readBelow reads a regular file of at most most bytes.
func readBelow(root *os.Root, name string, most int) ([]byte, error) {
	info, err := root.Stat(filepath.FromSlash(name))
	switch {
	case err != nil:
		return nil, plainly(err)
	case info.IsDir():
		return nil, errors.New("is a directory; want a file")
	case !info.Mode().IsRegular():
		return nil, errors.New("is no regular file")
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, plainly(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	switch {
	case err != nil:
		return nil, plainly(err)
	case len(data) > most:
		return nil, fmt.Errorf("is too large: all files of a script may hold %d MiB together", maxSource>>20)
	}
	return data, nil
}

// plainly is the error of a file without its path, which the caller has in the script's own words.
func plainly(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("does not exist")
	case err.Error() == "path escapes from parent": // os.Root exports no such error
		return errOutside
	}
	return err
}

// parse parses the code with its source map.
func (b *Bundle) parse() (*ast.Program, error) {
	return parser.ParseFile(nil, b.Name, b.Code+"\n//# sourceMappingURL=map", 0,
		parser.WithSourceMapLoader(func(string) ([]byte, error) { return b.Map, nil }))
}
