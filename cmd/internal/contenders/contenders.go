// Package contenders resolves the two names of "plimsoll compare OLD NEW": releases of Mattermost,
// builds of this program, container images, or addresses. It starts no program, and fetches no
// image.
package contenders

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"plimsoll/dialect/mattermost"
	"plimsoll/plan"
	"plimsoll/plan/draft"
	"plimsoll/target/container"
	release "plimsoll/target/mattermost"
)

// Minutes is the default length of the comparison.
const Minutes = 6

// anyProgram is the remedy for a program that is not known.
const anyProgram = "for any other program write a plan with driver: process, such as examples/program.yaml"

// What a name may stand for.
const (
	ofRelease = "a release of Mattermost"
	ofBuild   = "a build of plimsoll, of which the server refchat is meant"
	ofImage   = "a container image"
	ofProgram = "a program"
	ofAddress = "an address"
)

// A contender is the server that one name stands for.
type contender struct {
	draft.Contender
	kind   string
	driver string // deploys it; empty for an address
	build  string // the version in a program of Plimsoll
}

// Plan returns the plan, as YAML, that compares what two names stand for. Files of images are
// copied into a directory below the root of the store. Errors of the names are [plan.UsageError]s.
//
// With a script, which all users follow, a name may also stand for any other program: it is started
// with a port in the variable PORT of its environment, on which it listens.
func Plan(ctx context.Context, names [2]string, root, script string) (string, error) {
	var both [2]contender
	var errs [2]error
	both[0], errs[0] = find(ctx, names[0], root, script != "")
	if both[1] = both[0]; names[1] != names[0] {
		both[1], errs[1] = find(ctx, names[1], root, script != "")
	}
	if err := errors.Join(errs[:]...); err != nil {
		return "", err
	}
	if both[0].kind != both[1].kind || both[0].driver != both[1].driver {
		return "", plan.Usagef("%s is %s, and %s is %s; want two of one kind",
			names[0], both[0].what(), names[1], both[1].what())
	}
	return versus(both[0], both[1], script).YAML(), nil
}

// what names the kind, and the server where the kind is not enough.
func (c contender) what() string {
	if c.kind == ofImage {
		return c.kind + " of " + c.driver
	}
	return c.kind
}

// versus returns the facts of the plan.
func versus(base, fresh contender, script string) draft.Versus {
	v := draft.Versus{
		Driver:   base.driver,
		Behavior: mattermost.Dialect.Weighted,
		With:     mattermost.Posting,
		Script:   script,
		Old:      base.Contender,
		New:      fresh.Contender,
	}
	if v.Driver != "" && v.Driver != plan.Process {
		v.Databases = []string{plan.PostgreSQL}
	}
	if v.Driver == mattermost.Refchat {
		v.Args = []string{"-hash=bcrypt:4"} // with the usual one, accounts take most of the minutes
		v.Old.Version, v.New.Version = base.build, fresh.build
		if v.Old.Version == v.New.Version {
			v.Old.Version, v.New.Version = v.Old.Given, v.New.Given
		}
	}
	return v
}

// find resolves a name; any has it stand for any program.
func find(ctx context.Context, name, root string, any bool) (contender, error) {
	c := contender{Contender: draft.Contender{Given: name, Binary: name}}
	if strings.Contains(name, "://") {
		c.Binary = ""
		c.URL = name
		c.kind = ofAddress
		if err := plan.CheckServer(name); err != nil {
			return c, plan.UsageError{Err: err}
		}
		return c, nil
	}
	fi, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return findImage(ctx, c, root)
	case err != nil:
		return c, plan.UsageError{Err: err}
	case fi.IsDir():
		if _, _, err := release.Program(name); err != nil {
			return c, plan.Usagef("%w; %s", err, anyProgram)
		}
		c.kind, c.driver = ofRelease, mattermost.Release
		return c, nil
	}
	return program(c, fi, any)
}

// program finds out whose program a file is; any accepts everybody's.
func program(c contender, fi os.FileInfo, any bool) (contender, error) {
	path, err := filepath.Abs(c.Binary)
	if err != nil {
		return c, err
	}
	dir := filepath.Dir(filepath.Dir(path))
	if of, _, err := release.Program(dir); err == nil && of == path {
		c.Binary = dir
		c.kind = ofRelease
		c.driver = mattermost.Release
		return c, nil
	}
	if fi.Mode()&0o111 == 0 {
		return c, plan.Usagef(
			"%s is no program; want twice a release directory of Mattermost, a plimsoll program, "+
				"an image or an address; or one plan",
			c.Given,
		)
	}
	version, ok := build(c.Binary)
	switch {
	case ok:
		c.kind, c.driver, c.build = ofBuild, mattermost.Refchat, version
	case any:
		c.kind, c.driver = ofProgram, plan.Process
	default:
		return c, plan.Usagef(
			"%s is neither a build of plimsoll nor bin/mattermost in a release directory; "+
				"-script FILE compares any two programs that listen on $PORT, and %s",
			c.Given,
			anyProgram,
		)
	}
	// a bare name would be looked for in PATH
	if !strings.ContainsRune(c.Binary, filepath.Separator) {
		c.Binary = "." + string(filepath.Separator) + c.Binary
	}
	return c, nil
}

// build reports whether a file is a build of this program, and its version; empty for one of a work
// tree.
func build(path string) (version string, ok bool) {
	info, err := buildinfo.ReadFile(path)
	own, known := debug.ReadBuildInfo()
	if err != nil || !known || info.Path != own.Path {
		return "", false
	}
	return strings.TrimPrefix(info.Main.Version, "(devel)"), true
}

// findImage looks for an image, and copies its server into the store.
func findImage(ctx context.Context, c contender, root string) (contender, error) {
	image, err := container.FindImage(ctx, c.Given)
	if errors.Is(err, container.ErrNoImage) {
		return c, plan.Usagef(
			"%s: there is no such file or directory, and neither podman nor docker has such an image "+
				"(podman pull fetches one)",
			c.Given,
		)
	}
	if err != nil {
		return c, err
	}
	c.kind = ofImage
	c.build = c.Given
	c.Version = c.Given
	dir := filepath.Join(root, "images", image.ID[:min(len(image.ID), 20)])
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := unpack(ctx, image, dir); err != nil {
			return c, fmt.Errorf("unpacking the image %s: %w", c.Given, err)
		}
	}
	if _, _, err := release.Program(dir); err == nil {
		c.Binary, c.driver = dir, mattermost.Release
		return c, nil
	}
	c.Binary, c.driver = filepath.Join(dir, filepath.Base(image.Program)), mattermost.Refchat
	if _, ok := build(c.Binary); !ok {
		return c, plan.Usagef(
			"the image %s has neither a release of Mattermost (looked for in %s) nor a build of plimsoll "+
				"as its program (%s); %s",
			c.Given,
			strings.Join(places(image), ", "),
			image.Program,
			anyProgram,
		)
	}
	return c, nil
}
