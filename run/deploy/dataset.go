package deploy

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"plimsoll/internal/files"
	"plimsoll/plan"
	"plimsoll/reference/dataset"
	"plimsoll/reference/dataset/dump"
	"plimsoll/run/deploy/dumps"
	"plimsoll/target/lab"
)

// Data returns the dump that a target's dataset names, or the description of the data that are made
// for it; neither for a target without one.
func (e *Resolver) Data(t plan.Target, engine string) (*dump.Dump, dataset.Spec, error) {
	var spec dataset.Spec
	name, own := t.Dataset, e.Drivers[t.Driver]
	switch {
	case !t.Filled():
		return nil, spec, nil
	case engine == "":
		return nil, spec, plan.Usagef("target.dataset: %s needs a database that this program "+
			"starts; add database: {engine: postgresql}", name)
	case files.IsDir(name):
		d, err := dump.For(name, engine)
		if err != nil {
			return nil, spec, plan.Usagef("target.dataset: %w", err)
		}
		if own.Data != "" && d.Manifest.Schema != own.Data {
			return nil, spec, plan.Usagef("target.dataset: %s has schema %q, the reference server "+
				"wants %q; generate it again", d.Dir, d.Manifest.Schema, own.Data)
		}
		return d, spec, nil
	case own.Data == "":
		return nil, spec, plan.Usagef(
			"target.dataset: %s is not a directory; the driver %s begins "+
				"with a dump of its own database, which plimsoll data snapshot makes",
			name,
			t.Driver,
		)
	}
	spec, err := dumps.ReadSpec(name)
	if err != nil {
		err = fmt.Errorf("target.dataset: %w", err)
	}
	return nil, spec, err
}

// dataset returns the dump that a target begins with: the one at a path, or one made from a preset
// or a spec, which is kept in the store for the next time; nil for a target without one.
func (f *Deployments) dataset(ctx context.Context, t plan.Target,
	engine string) (d *dump.Dump, err error) {
	d, spec, err := f.Data(t, engine)
	if err != nil || d != nil || !t.Filled() {
		return d, err
	}
	root, err := filepath.Abs(filepath.Join(f.Root, "datasets"))
	if err != nil {
		return nil, err
	}
	password := f.Secret("PLIMSOLL_USER_PASSWORD")
	dir := filepath.Join(root, fmt.Sprintf("%s-%s-%s-%s%s", spec.Name, spec.Digest()[:12], engine,
		f.Drivers[t.Driver].Data, ofPassword(password)))
	if files.IsDir(dir) {
		return dump.For(dir, engine)
	}
	if len(f.Generator) > 0 { // nothing is measured yet: use the cores of both sides
		if err := lab.PinSelf(slices.Concat(f.Generator, f.Targets)); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, lab.PinSelf(f.Generator)) }()
	}
	m := &dumps.Maker{Progress: f.Progress, Tool: f.Tool, Password: password}
	d, _, err = m.Generate(ctx, spec, engine, dir)
	if err != nil && files.IsDir(dir) {
		return dump.For(dir, engine) // another program was faster
	}
	return d, err
}

// ofPassword tells kept dumps apart whose users have other passwords, which would log nobody in.
// Two bytes of a digest reveal next to nothing of the password.
func ofPassword(password string) string {
	if password == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(password))
	return fmt.Sprintf("-%x", sum[:2])
}
