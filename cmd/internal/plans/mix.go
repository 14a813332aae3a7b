package plans

import (
	"context"
	"flag"
	"io"

	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/mixfile"
	"plimsoll/internal/plain"
)

// mixFlags adds the flags of "plan mix": where the weights come from, and the file for them.
func mixFlags(fs *flag.FlagSet) (*mixfile.Source, *string) {
	var mix mixfile.Source
	fs.StringVar(
		&mix.Prometheus,
		"prometheus",
		"",
		"mix: address of the Prometheus server that scrapes a production server",
	)
	fs.StringVar(
		&mix.File,
		"file",
		"",
		"mix: saved answer of that server to the query, instead of asking it",
	)
	fs.StringVar(
		&mix.AccessLog,
		"access-log",
		"",
		"mix: access log of that server, or of a proxy before it, in the combined format; gzip too",
	)
	fs.StringVar(&mix.TokenFile, "token-file", "", "mix: file with a bearer token for that server")
	fs.StringVar(
		&mix.At,
		"at",
		"",
		"mix: end of the window, such as 2026-05-07T18:00:00Z (default now)",
	)
	fs.StringVar(
		&mix.Window,
		"window",
		"2h",
		"mix: the time over which calls are counted; best the busiest hours of a week",
	)
	return &mix, fs.String("o", "", "mix: file to write (default standard output)")
}

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
	if err := app.WriteFile(out, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}); err != nil {
		return err
	}
	_, err = plain.Fprintf(a.Stdout, "%s: weights of %d actions\n", out, actions)
	return err
}
