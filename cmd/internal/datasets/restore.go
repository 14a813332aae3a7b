package datasets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plimsoll/cmd/internal/app"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/reference/dataset/dump"
	"plimsoll/run/deploy/dumps"
	"plimsoll/run/deploy/stores"
)

// Restored is the output of restore with -json. Times are in seconds.
type Restored struct {
	Dir     string  `json:"dir"`
	Bytes   int64   `json:"bytes"`
	Restore float64 `json:"restore"`         // until the server answered
	Reset   float64 `json:"reset,omitempty"` // to the same state once more, as between two runs
	Copy    float64 `json:"copy,omitempty"`  // cp -a of the same data
	Sync    float64 `json:"sync,omitempty"`  // of that copy, until it was on disk
}

func dataRestore(ctx context.Context, a *app.App) error {
	fs := a.Flags
	copied := fs.Bool(
		"plain",
		false,
		"also time a plain copy (cp -a) of the same data, and a reset as between two runs",
	)
	timeout := fs.Duration("timeout", dataTimeout, "end after this time")
	asJSON := fs.Bool("json", false, "write the times as JSON")
	script := scriptFlags(fs)
	way := fs.String(
		"reset",
		"",
		"how -plain resets: copy, reflink or image; the default is the best that this host has for the size",
	)
	rest, err := a.Parse(2, 2)
	if err != nil {
		return err
	}
	if dumps.IsSQLFile(rest[0]) {
		return restoreScript(ctx, a, rest[0], rest[1], script, *timeout, *asJSON)
	}
	d, err := dump.Open(rest[0])
	if err == nil {
		err = d.Whole()
	}
	if err != nil {
		return plan.UsageError{Err: err}
	}
	dir := rest[1]
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return plan.Usagef("%s is not empty; name a directory that is, or that does not exist", dir)
	}
	if err := dump.CheckSpace(dir, 2*d.Manifest.DataBytes); err != nil {
		return err
	}
	ctx, cancel := timed(ctx, *timeout)
	defer cancel()
	prog := a.NewProgress()
	defer prog.End()
	prog.What("restoring "+rest[0], 0)
	x := Restored{Dir: dir, Bytes: d.Manifest.DataBytes}
	if *copied {
		prog.Doing("plain copy", 0)
		if x.Copy, x.Sync, err = dumps.TimeCopy(ctx, d.Data(), filepath.Clean(dir)+".plain"); err != nil {
			return err
		}
	}
	prog.Doing("copying and starting the server", 0)
	began := time.Now()
	s, err := stores.Start(ctx, d.Manifest.Engine, dir, d.Data(), *way, nil)
	if err != nil {
		return fmt.Errorf("restoring %s: %w", rest[0], errors.Join(err, stores.RemoveState(dir)))
	}
	x.Restore = time.Since(began).Seconds()
	if *copied {
		prog.Doing("resetting", 0)
		x.Reset, err = dumps.TimeReset(ctx, s, d.Manifest.Database)
	}
	stop, cancelStop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancelStop()
	if err := errors.Join(err, s.Stop(stop)); err != nil {
		return err
	}
	prog.End()
	if *asJSON {
		return a.JSON(x)
	}
	return x.text(a)
}

// text writes the times for people.
func (x Restored) text(a *app.App) error {
	a.Printf("%s: %.2f GB restored in %.1f s, until the server answered",
		x.Dir, float64(x.Bytes)/1e9, x.Restore)
	if x.Copy+x.Sync > 0 {
		a.Printf("; a reset as between two runs takes %.1f s; cp -a of the same data takes %.1f s, and %.1f s until it is on disk: restore is %.2f times that",
			x.Reset, x.Copy, x.Copy+x.Sync, x.Restore/(x.Copy+x.Sync))
	}
	_, err := plain.Fprintf(a.Stdout, "\n")
	return err
}
