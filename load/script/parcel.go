package script

import (
	"errors"

	"github.com/grafana/sobek"
	"github.com/grafana/sobek/parser"
)

// parcel stands for bundle.Bundle.
type parcel struct {
	Name, Code, Digest string
	Map                []byte
	Files              map[string][]byte
	Env                []string
}

// Program returns the code compiled for the engine.
func (b *parcel) Program() (*sobek.Program, error) {
	tree, err := parser.ParseFile(nil, b.Name, b.Code+"\n//# sourceMappingURL=map", 0,
		parser.WithSourceMapLoader(func(string) ([]byte, error) { return b.Map, nil }))
	if err != nil {
		return nil, err
	}
	return sobek.CompileAST(tree, true)
}

// Open returns a file.
func (b *parcel) Open(name string) ([]byte, error) {
	if data, ok := b.Files[name]; ok {
		return data, nil
	}
	return nil, errors.New("open: no such file")
}
