package mattermost

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"plimsoll/internal/files"
	"plimsoll/reference/dataset"
)

// Create creates the file out and, beside it, the attachments that opt asks for. An error
// leaves no part of the file.
func Create(
	ctx context.Context,
	p *dataset.Population,
	opt Options,
	out string,
) (err error) {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	f, err := os.Create(out + ".part")
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		if rerr := os.Remove(out + ".part"); !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}()
	if err := errors.Join(Write(ctx, f, p, opt), f.Close()); err != nil {
		return err
	}
	if opt.Attachments {
		if err := WriteAttachments(filepath.Dir(out)); err != nil {
			return err
		}
	}
	return files.Settle(files.OS{}, out+".part", out)
}
