package container

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// copyPatience bounds the copy of files out of an image: some hundred megabytes of a slow disk.
const copyPatience = 5 * time.Minute

// ErrNoImage is the error of a name for which neither podman nor docker has an image here.
var ErrNoImage = errors.New("no image of that name is here")

// A HostImage is a container image that podman or docker has on this host.
type HostImage struct {
	Name string
	// ID is its digest, in hexadecimal.
	ID string
	// Program is what its containers start, and WorkDir where; either may be empty.
	Program, WorkDir string
	engine           string // the program that has it
}

// FindImage returns an image by its name. It fetches none.
func FindImage(ctx context.Context, name string) (HostImage, error) {
	ctx, cancel := context.WithTimeout(ctx, podmanPatience)
	defer cancel()
	for _, engine := range []string{"podman", "docker"} {
		path, err := exec.LookPath(engine)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, path, "image", "inspect", "--", name).Output()
		if err != nil {
			continue
		}
		var found []struct {
			ID     string `json:"Id"`
			Config struct {
				Entrypoint, Cmd []string
				WorkingDir      string
			}
		}
		if err := json.Unmarshal(out, &found); err != nil || len(found) == 0 || found[0].ID == "" {
			return HostImage{}, fmt.Errorf(
				"%s inspect of the image %s cannot be read: %w",
				engine,
				name,
				err,
			)
		}
		x := found[0]
		image := HostImage{
			Name:    name,
			ID:      strings.TrimPrefix(x.ID, "sha256:"),
			WorkDir: x.Config.WorkingDir,
			engine:  path,
		}
		if all := append(x.Config.Entrypoint, x.Config.Cmd...); len(all) > 0 {
			image.Program = all[0]
		}
		return image, nil
	}
	return HostImage{}, ErrNoImage
}

// Copy copies a file or a directory of the image to a path that is not there yet. It makes a
// container that is never started, and removes it.
func (i HostImage) Copy(ctx context.Context, from, to string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, copyPatience)
	defer cancel()
	made, err := i.command(ctx, "create", "--network", "none", i.Name, "none")
	if err != nil {
		return err
	}
	id := strings.TrimSpace(made)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), podmanPatience)
		defer cancel()
		_, failed := i.command(ctx, "rm", id)
		err = errors.Join(err, failed)
	}()
	if _, err = i.command(ctx, "cp", id+":"+from, to); err != nil {
		return errors.Join(err, os.RemoveAll(to))
	}
	return nil
}

// command runs the engine and returns its output.
func (i HostImage) command(ctx context.Context, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, i.engine, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return "", fmt.Errorf("image %s: %s %s: %w: %s", i.Name, i.engine, args[0], err, first)
	}
	return string(out), nil
}
