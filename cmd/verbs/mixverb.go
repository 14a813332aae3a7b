package verbs

import (
	"context"
	"io"

	"plimsoll/cmd/internal/mixfile"
	"plimsoll/internal/plain"
)

// importMix writes the weights of a production server's users to a file, or to stdout.
func (a *app) importMix(ctx context.Context, s mixfile.Source, out string) error {
	text, actions, err := mixfile.Import(ctx, s, a.known())
	if err != nil {
		return err
	}
	if out == "" || out == "-" {
		_, err := a.stdout.Write(text)
		return err
	}
	if err := writeFile(out, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	_, err = plain.Fprintf(a.stdout, "%s: weights of %d actions\n", out, actions)
	return err
}
