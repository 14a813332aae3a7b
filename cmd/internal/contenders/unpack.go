package contenders

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"plimsoll/internal/files"
	"plimsoll/target/container"
	release "plimsoll/target/mattermost"
)

// places are the directories of an image that may be a release.
func places(image container.HostImage) []string {
	usual := []string{"/mattermost", "/opt/mattermost"}
	if dir := image.WorkDir; dir != "" && dir != "/" && dir != usual[0] && dir != usual[1] {
		return append([]string{dir}, usual...)
	}
	return usual
}

// unpack copies the server of an image into a directory, which is there whole or not at all: its
// release, or else the program of its containers, if it has either.
func unpack(ctx context.Context, image container.HostImage, dir string) error {
	part := dir + ".part"
	if err := errors.Join(os.RemoveAll(part), os.MkdirAll(filepath.Dir(dir), 0o755)); err != nil {
		return err
	}
	for _, place := range places(image) {
		err := image.Copy(ctx, place, part)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			continue // the image has no such directory
		}
		if _, _, err := release.Program(part); err == nil {
			return files.Settle(files.OS{}, part, dir)
		}
		if err := os.RemoveAll(part); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(part, 0o755); err != nil {
		return err
	}
	if p := image.Program; p != "" {
		if err := image.Copy(ctx, p, filepath.Join(part, filepath.Base(p))); err != nil {
			return errors.Join(err, os.RemoveAll(part))
		}
	}
	return files.Settle(files.OS{}, part, dir)
}
