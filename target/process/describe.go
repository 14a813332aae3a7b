package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"

	"plimsoll/internal/files"
	"plimsoll/target"
	"plimsoll/target/lab"
)

// A described server describes itself.
type described interface {
	Describe(ctx context.Context) (lab.ProgramInfo, error)
}

// describe fills the description once everything runs.
func (d *deployment) describe(ctx context.Context) error {
	cmd, err := d.conf.Command(d.spec, d.instances[0])
	if err != nil {
		return err
	}
	desc := target.Description{
		Name:      d.spec.Name,
		Driver:    d.conf.Name,
		Version:   d.spec.Version,
		Instances: d.spec.Instances,
		CPUs:      slices.Clone(d.spec.CPUs),
		Engine:    d.spec.Engine,
		Dataset:   d.spec.Dataset,
		URLs:      d.URLs(),
		Command:   append([]string{cmd.Path}, cmd.Args...),
		Env:       map[string]string{},
	}
	maps.Copy(desc.Env, cmd.Env)
	maps.Copy(desc.Env, d.spec.Env)
	for k := range d.spec.Secrets {
		desc.Env[k] = target.Hidden
	}
	desc.Deployment = maps.Clone(d.conf.Described)
	desc.Hosts = slices.Clone(d.conf.AllHosts)
	desc.Links = d.conf.Links
	if desc.Digest, err = digest(cmd.Path); err != nil {
		return err
	}
	if d.db != nil {
		db, err := d.db.Describe(ctx)
		if err != nil {
			return err
		}
		desc.Database = &db
	}
	servers := map[string]described{}
	for role, c := range d.companions {
		servers[role] = c
	}
	if d.proxy != nil {
		servers[proxyRole] = d.proxy
	}
	for i, r := range d.replicas {
		servers[replicaName(i)] = r
	}
	for role, c := range servers {
		text, err := c.Describe(ctx)
		if err != nil {
			return fmt.Errorf("reading the description of the %s: %w", role, err)
		}
		if desc.Companions == nil {
			desc.Companions = map[string]lab.ProgramInfo{}
		}
		desc.Companions[role] = text
	}
	if desc.Version == "" && d.conf.Version != nil {
		if desc.Version, err = d.conf.Version(ctx, d); err != nil {
			return err
		}
	}
	d.desc = desc
	return nil
}

// sameProgram returns an error if the program's file holds another build than at the deployment.
// One that cannot be read is no error: the start reports it.
func (d *deployment) sameProgram() error {
	path := d.desc.Command[0]
	now, err := digest(path)
	if err != nil || now == d.desc.Digest {
		return nil
	}
	return fmt.Errorf("%s was replaced since it was deployed (SHA-256 %.12s, it was %.12s), "+
		"and the runs would be of two builds; put that file back, or begin anew", path, now, d.desc.Digest)
}

// digest returns the SHA-256 of a program file.
func digest(path string) (string, error) {
	path, err := exec.LookPath(path)
	if err != nil {
		return "", fmt.Errorf("looking for the program: %w", err)
	}
	f, err := files.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading the program: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("reading the program: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
