package plans

import (
	"context"
	"io"

	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/mixfile"
	"plimsoll/internal/plain"
)

// importMix writes the weights of a production server's users to a file, or to stdout.
func importMix(ctx context.Context, a *app.App, s mixfile.Source, out string) error {
	text, actions, err := mixfile.Import(ctx, s, a.Known())
	if err != nil {
		return err
	}
	if out == "" || out == "-" {
		_, err := a.Stdout.Write(text)
		return err
	}
	if err := app.WriteFile(out, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	_, err = plain.Fprintf(a.Stdout, "%s: weights of %d actions\n", out, actions)
	return err
}
