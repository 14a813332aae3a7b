package store

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/record"
)

// WriteTable writes a table of runs, each a line.
func WriteTable(w io.Writer, entries []Entry) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	plain.Fprintf(
		tw,
		"RUN\tBEGAN\tSTATE\tVALID\tARM\tDATABASE\tBLOCK\t"+
			"USERS\tPER S\tP95 MS\tERRORS\tCAPACITY\tCOMPARISON\n",
	)
	for _, e := range entries {
		valid := "no"
		switch {
		case e.Valid:
			valid = "yes"
		case e.State == record.Interrupted:
			valid = "-"
		}
		state := string(e.State)
		if len(e.Changed) > 0 {
			state = "CHANGED"
		}
		measured := "-\t-\t-\t-"
		if m := e.Measured; m != nil {
			measured = fmt.Sprintf(
				"%d\t%.3g\t%.3g\t%d of %d",
				m.Users,
				m.Rate,
				m.P95,
				m.Errors,
				m.Count,
			)
		}
		plain.Fprintf(
			tw,
			"%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			e.ID,
			e.Epoch.Local().Format(time.DateTime),
			state,
			valid,
			cmp.Or(e.Arm, "-"),
			cmp.Or(e.Engine, "-"),
			blockText(e.Block),
			plain.Block(measured),
			record.CapacityText(e.CapacityKind, e.Capacity),
			cmp.Or(e.Comparison, "-"),
		)
	}
	return tw.Flush()
}

func blockText(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
