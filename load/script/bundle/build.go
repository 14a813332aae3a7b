package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evanw/esbuild/pkg/api"
)

// A source is a script's folder, opened.
type source struct {
	root   *os.Root
	folder string // absolute, for texts of errors never
	name   string // of the script in it
}

// open opens the folder of a script: that of the file itself, where path is a symbolic link.
func open(file string) (*source, error) {
	real, err := filepath.EvalSymlinks(file)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	s := &source{folder: filepath.Dir(real), name: filepath.Base(real)}
	if err == nil {
		s.root, err = os.OpenRoot(s.folder)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, plainly(err))
	}
	return s, nil
}

// loaders is how files are read, by the ending of their name.
var loaders = map[string]api.Loader{
	".js": api.LoaderJS, ".mjs": api.LoaderJS, ".cjs": api.LoaderJS,
	".ts": api.LoaderTS, ".mts": api.LoaderTS, ".cts": api.LoaderTS, ".json": api.LoaderJSON,
}

// built is what esbuild made of a script.
type built struct {
	code      string
	positions []byte // source map
	wrong     []Construct
}

// A reading is one build: it resolves and loads for esbuild, which calls from many goroutines.
type reading struct {
	*source
	lenient bool // an import that is not supported is noted, and left to nobody

	mu    sync.Mutex
	files int
	left  int
}

// build bundles the script. globals maps names of globals to others in their place; nil also means
// that an import which is not supported is wrong, and otherwise it is left in the code.
func (s *source) build(globals map[string]string) built {
	out := s.once(globals, s.name)
	// esbuild follows no import of a file with an error, and a script gets all of its errors at once.
	seen := map[string]bool{}
	for entries := s.broken(out.wrong, seen); len(entries) > 0; {
		more := s.once(globals, entries...).wrong
		out.wrong = append(out.wrong, more...)
		entries = s.broken(more, seen)
	}
	out.wrong = sorted(out.wrong)
	return out
}

// importRE finds what a file imports from files, without parsing it.
var importRE = regexp.MustCompile(`(?:\bfrom|\bimport|\brequire\()\s*["'](\.[^"'\n]*)["']`)

// broken returns the files that those with errors import, which are not yet seen.
func (s *source) broken(wrong []Construct, seen map[string]bool) []string {
	r := &reading{source: s}
	var next []string
	for _, c := range wrong {
		if seen[c.File] || c.Line == 0 {
			continue
		}
		seen[c.File] = true
		text, err := readBelow(s.root, c.File, maxSource)
		if err != nil {
			continue // it was read before
		}
		for _, m := range importRE.FindAllSubmatch(text, maxFiles) {
			name, err := r.find(path.Join(path.Dir(c.File), string(m[1])))
			if err == nil && !seen[name] {
				next = append(next, name)
			}
		}
	}
	slices.Sort(next)
	return slices.Compact(next)
}

// once runs esbuild.
func (s *source) once(globals map[string]string, entries ...string) built {
	r := &reading{source: s, lenient: globals != nil, left: maxSource}
	ctx, failed := api.Context(api.BuildOptions{
		EntryPoints:    entries,
		AbsWorkingDir:  s.folder,
		Outdir:         s.folder, // nothing is written; the map's sources count from it
		Outbase:        s.folder,
		Bundle:         true,
		Format:         api.FormatCommonJS,
		Platform:       api.PlatformNeutral,
		Charset:        api.CharsetUTF8,
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude,
		LegalComments:  api.LegalCommentsNone,
		TsconfigRaw:    "{}", // none from the disk
		Define:         globals,
		Banner:         map[string]string{"js": `(function(require, exports, module) { "use strict";`},
		Footer:         map[string]string{"js": "})"},
		Target:         api.ES2022,
		Supported:      lacks,
		LogLevel:       api.LogLevelSilent,
		Plugins:        []api.Plugin{{Name: "folder", Setup: r.setup}},
	})
	if failed != nil {
		return built{wrong: r.constructs(failed.Errors)}
	}
	defer ctx.Dispose()
	late := time.AfterFunc(maxTime, ctx.Cancel)
	defer late.Stop()
	res := ctx.Rebuild()
	out := built{wrong: r.constructs(res.Errors)}
	for _, f := range res.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			out.positions = f.Contents
		} else {
			out.code = direct(string(f.Contents))
		}
	}
	if len(out.wrong) == 0 && out.code == "" {
		out.wrong = []Construct{{File: s.name, Text: "bundling took more than " + maxTime.String(),
			Remedy: "import less"}}
	}
	return out
}

// direct returns the code with the host's modules as they are, in the same columns: esbuild would
// copy the name of each member into an object of the user's own, and so make all of them.
func direct(code string) string {
	for _, name := range Modules() {
		const copied = "__toESM"
		call := `(require("` + name + `")`
		code = strings.ReplaceAll(code, copied+call, strings.Repeat(" ", len(copied))+call)
	}
	return code
}

// lacks is what the engine cannot parse of ES2022, so that esbuild writes it in other words.
var lacks = map[string]bool{
	"async-generator": false, "for-await": false, "dynamic-import": false,
	"arbitrary-module-namespace-names": false, "top-level-await": false,
}

// constructs returns the messages of esbuild.
func (r *reading) constructs(messages []api.Message) []Construct {
	var out []Construct
	for _, m := range messages {
		text, remedy, _ := strings.Cut(m.Text, "\x00")
		text, _, lacking := strings.Cut(text, " in the configured target environment")
		if lacking {
			remedy = "the engine cannot run it; write it in another way, inside of a function"
		}
		c := Construct{File: r.name, Text: text, Remedy: remedy}
		if l := m.Location; l != nil {
			c.File = filepath.ToSlash(l.File)
			if l.Line > 0 {
				c.Line, c.Col = l.Line, l.Column+1
			}
		}
		out = append(out, c)
	}
	return out
}

func (r *reading) setup(b api.PluginBuild) {
	all := api.OnResolveOptions{Filter: ".*"}
	b.OnResolve(all, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if a.Kind == api.ResolveEntryPoint {
			return api.OnResolveResult{Path: filepath.Join(r.folder, a.Path)}, nil
		}
		return r.resolve(a), nil
	})
	b.OnLoad(api.OnLoadOptions{Filter: ".*"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		return r.load(a.Path)
	})
}

// resolve resolves one import.
func (r *reading) resolve(a api.OnResolveArgs) api.OnResolveResult {
	external := api.OnResolveResult{Path: a.Path, External: true}
	if slices.Contains(Modules(), a.Path) {
		return external
	}
	remedy := elsewhere(a.Path)
	if remedy != "" && r.lenient {
		return external
	}
	if remedy == "" {
		from, err := filepath.Rel(r.folder, a.ResolveDir)
		if err == nil {
			var name string
			if name, err = r.find(path.Join(filepath.ToSlash(from), a.Path)); err == nil {
				return api.OnResolveResult{Path: filepath.Join(r.folder, filepath.FromSlash(name))}
			}
		}
		return api.OnResolveResult{Errors: []api.Message{{
			Text: fmt.Sprintf("import of %s: %v", clip(a.Path), err),
		}}}
	}
	// The place of an import is known to esbuild alone, and only an error gets it.
	return api.OnResolveResult{Errors: []api.Message{{
		Text: "import of " + clip(a.Path) + "\x00" + remedy,
	}}}
}

// find returns the path below the folder of an imported file: as written, or with the ending that
// its writer left out.
func (r *reading) find(name string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", errOutside
	}
	tries := []string{name}
	if loaders[path.Ext(name)] == api.LoaderNone {
		tries = append(tries, name+".ts", name+".js", name+"/index.ts", name+"/index.js")
	} else if stem, ok := strings.CutSuffix(name, ".js"); ok {
		tries = append(tries, stem+".ts") // as TypeScript writes the import of another .ts
	}
	var first error
	for _, try := range tries {
		info, err := r.root.Stat(filepath.FromSlash(try))
		switch {
		case err == nil && info.Mode().IsRegular():
			return try, nil
		case err == nil && info.IsDir():
			err = errors.New("is a directory; name a file in it")
		case err == nil:
			err = errors.New("is no regular file")
		}
		if first == nil || errors.Is(first, os.ErrNotExist) {
			first = err
		}
	}
	return "", plainly(first)
}

// load reads one file for esbuild.
func (r *reading) load(file string) (api.OnLoadResult, error) {
	rel, err := filepath.Rel(r.folder, file)
	if err != nil {
		return api.OnLoadResult{}, errOutside
	}
	name := filepath.ToSlash(rel)
	fail := func(format string, args ...any) (api.OnLoadResult, error) {
		return api.OnLoadResult{Errors: []api.Message{{
			Text: fmt.Sprintf(format, args...), Location: &api.Location{File: name},
		}}}, nil
	}
	loader, ok := loaders[path.Ext(name)]
	if !ok {
		ends := slices.Sorted(maps.Keys(loaders))
		return fail("is not a script; want a name that ends in %s, or read it with open()",
			strings.Join(ends, " "))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.files++; r.files > maxFiles {
		return fail("the script has more than %d files", maxFiles)
	}
	data, err := readBelow(r.root, name, r.left)
	if err != nil {
		return fail("%v", err)
	}
	r.left -= len(data)
	if deep := nested(data); deep > maxNested {
		return fail("brackets are nested %d deep; want at most %d", deep, maxNested)
	}
	text := string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	return api.OnLoadResult{Contents: &text, Loader: loader, ResolveDir: filepath.Dir(file)}, nil
}
