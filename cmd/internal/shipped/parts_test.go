package shipped

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

// A part is one package of the program.
type part struct {
	ImportPath string
	Dir        string
	Standard   bool
	Imports    []string
	CgoFiles   []string
	Module     *struct {
		Path, Version, Dir string
		Replace            *struct{ Path string }
	}
}

// absent reports whether the part only stands in for a module that is left out.
func (p *part) absent() bool {
	return p.Module != nil && p.Module.Replace != nil &&
		strings.HasPrefix(p.Module.Replace.Path, "./internal/absent/")
}

// parts lists the packages of the program as it is built with further settings of the environment.
func parts(t *testing.T, settings ...string) []part {
	t.Helper()
	cmd := exec.CommandContext(
		t.Context(),
		"go",
		"list",
		"-deps",
		"-json=ImportPath,Dir,Standard,Imports,CgoFiles,Module",
		"plimsoll/cmd/plimsoll",
	)
	cmd.Env = append(os.Environ(), settings...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var all []part
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p part
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 300 {
		t.Fatalf("only %d packages were found: the test would hold for nothing", len(all))
	}
	return all
}

// unwanted are prefixes of import paths that the program must not contain. A path includes the
// paths below it.
var unwanted = []string{
	// Clients of clusters and clouds.
	"k8s.io", "sigs.k8s.io", "cloud.google.com", "google.golang.org/api", "google.golang.org/grpc", "github.com/googleapis",
	"github.com/Azure", "github.com/AzureAD", "github.com/aws", "github.com/prometheus/sigv4", "github.com/hashicorp",
	"github.com/digitalocean", "github.com/hetznercloud", "github.com/linode", "github.com/docker", "github.com/moby",
	"github.com/open-telemetry", "go.opentelemetry.io", "golang.org/x/oauth2",
	// What only tests of others need.
	"github.com/stretchr/testify", "go.uber.org/goleak", "net/http/httptest",
	// Parts of Prometheus that find targets, scrape them, evaluate its rules or notify.
	"github.com/prometheus/prometheus/discovery/install", "github.com/prometheus/prometheus/plugins", "github.com/prometheus/prometheus/scrape",
	"github.com/prometheus/prometheus/rules", "github.com/prometheus/prometheus/notifier", "github.com/prometheus/prometheus/web",
	"github.com/prometheus/prometheus/promql/promqltest", "github.com/prometheus/alertmanager",
	// Calls of methods by names that are not known before: with one, the linker keeps every
	// exported method in the program, 16 MB of them.
	"text/template", "html/template", "golang.org/x/net/trace", "github.com/mwitkow/go-conntrack",
	// Code that needs a C library.
	"github.com/mattn/go-sqlite3",
}

// isUnwanted reports whether p is unwanted and not left out.
func isUnwanted(p *part) bool {
	return !p.absent() && slices.ContainsFunc(unwanted, func(u string) bool {
		return p.ImportPath == u || strings.HasPrefix(p.ImportPath, u+"/")
	})
}

// strangersIn returns one line for each import of an unwanted package by one that is not: where the
// chain would be cut.
func strangersIn(all []part) (bad []string) {
	strangers := map[string]bool{}
	for i := range all {
		strangers[all[i].ImportPath] = isUnwanted(&all[i])
	}
	for i := range all {
		for _, imported := range all[i].Imports {
			if strangers[imported] && !strangers[all[i].ImportPath] {
				bad = append(bad, imported+", imported by "+all[i].ImportPath)
			}
		}
	}
	return bad
}

func TestProgramCarriesNoCloudAndNoClusterClient(t *testing.T) {
	for _, s := range strangersIn(parts(t, "CGO_ENABLED=0")) {
		t.Errorf(
			"the program contains %s; take a narrower package, or let a module below internal/absent stand in for it",
			s,
		)
	}
}

// TestStrangersAreSeen shows that the test above can fail, and that a replacement of a module
// passes.
func TestStrangersAreSeen(t *testing.T) {
	var all []part
	err := json.Unmarshal([]byte(`[
		{"ImportPath": "plimsoll/watch/series", "Imports": ["k8s.io/client-go/rest", "k8s.io/client-gopher", "example.org/k8s.io", "google.golang.org/api/option"]},
		{"ImportPath": "k8s.io/client-go/rest", "Module": {"Path": "k8s.io/client-go"}, "Imports": ["k8s.io/klog"]},
		{"ImportPath": "k8s.io/klog"},
		{"ImportPath": "github.com/prometheus/sigv4/v2", "Imports": ["github.com/aws/smithy-go"], "Module": {"Replace": {"Path": "./internal/absent/sigv4"}}},
		{"ImportPath": "github.com/aws/smithy-go", "Module": {"Path": "github.com/aws/smithy-go", "Replace": {"Path": "github.com/someone/smithy"}}},
		{"ImportPath": "google.golang.org/api/option", "Module": {"Path": "google.golang.org/api", "Replace": {"Path": "./internal/absent/googleapi"}}},
		{"ImportPath": "example.org/k8s.io"},
		{"ImportPath": "github.com/azurely/fine"}]`), &all)
	failure.None(t, err)
	want := []string{
		"k8s.io/client-go/rest, imported by plimsoll/watch/series",
		"github.com/aws/smithy-go, imported by github.com/prometheus/sigv4/v2",
	}
	if got := strangersIn(all); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNothingNeedsC holds the reason for which the program may be built with CGO_ENABLED=0: where C
// is at hand, only the packages below use it, and each of them has the same in Go.
func TestNothingNeedsC(t *testing.T) {
	spared := []string{"net", "os/user", "runtime/cgo"}
	for _, p := range parts(t, "CGO_ENABLED=1") {
		if len(p.CgoFiles) > 0 && !slices.Contains(spared, p.ImportPath) {
			t.Errorf("%s has files of C: %q", p.ImportPath, p.CgoFiles)
		}
	}
	for _, p := range parts(t, "CGO_ENABLED=0") {
		if len(p.CgoFiles) > 0 || p.ImportPath == "runtime/cgo" {
			t.Errorf("%s is built with C although CGO_ENABLED=0", p.ImportPath)
		}
	}
}
