package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// share returns n of all in percent.
func share(n, all int) float64 {
	if all == 0 {
		return 0
	}
	return 100 * float64(n) / float64(all)
}

// print writes the measurements. Errors of writing are ignored: the reader sees that the end is missing.
func (h *house) print(w io.Writer) {
	h.printRooms(w)
	title := func(format string, args ...any) { fmt.Fprintf(w, "\n"+format+"\n", args...) }
	list := func(entries []entry) {
		for _, e := range entries[:min(longest, len(entries))] {
			fmt.Fprintf(w, "%8d  %s\n", e.n, e.place)
		}
	}
	title("longest files, in lines")
	list(h.files)
	title("longest functions, in lines")
	list(h.functions)
	title("longest lines, in columns")
	list(h.lines)
	title("golden files and other test data, in bytes: %d files, %d KiB", len(h.golden), h.bytes/1024)
	list(h.golden)
	title("words, per 1,000%32s %8s %8s", "what", "nobody…", "says…")
	for _, p := range []struct {
		name string
		prose
	}{{"comments", h.comments}, {"Markdown", h.markdown}} {
		fmt.Fprintf(w, "  %-10s%8d words %17.1f %8.1f %8.1f\n", p.name, p.words, p.per(p.what), p.per(p.who), p.per(p.tell))
	}
	h.printExamples(w)
}

func (h *house) printRooms(w io.Writer) {
	fmt.Fprintf(w, "%-24s %7s %7s %6s %9s %7s\n", "room", "lines", "tests", "files", "comment", fmt.Sprintf(">%d", columns))
	row := func(r *room) {
		fmt.Fprintf(w, "%-24s %7d %7d %6d %7.1f %% %5.1f %%\n", r.name, r.lines, r.tests, r.files, share(r.remark, r.lines), share(r.over, r.all))
	}
	total, product := &room{name: "all"}, &room{name: "product"}
	for _, name := range slices.Sorted(maps.Keys(h.rooms)) {
		r := h.rooms[name]
		row(r)
		total.add(r)
		if folder, _, _ := strings.Cut(name, "/"); !slices.Contains(outside, folder) {
			product.add(r)
		}
	}
	row(total)
	row(product)
	fmt.Fprintf(w, "lines and files are without tests; the product is all but %s\n", strings.Join(outside, " and "))
}

func (r *room) add(s *room) {
	r.files, r.lines, r.tests, r.remark = r.files+s.files, r.lines+s.lines, r.tests+s.tests, r.remark+s.remark
	r.all, r.over = r.all+s.all, r.over+s.over
}

func (h *house) printExamples(w io.Writer) {
	var missing []string
	for _, p := range flow {
		switch {
		case !h.packages[p]:
			missing = append(missing, p+" (no such package)")
		case !h.examples[p]:
			missing = append(missing, p)
		}
	}
	fmt.Fprintf(w, "\npackages of the flow without an example that runs: %d of %d\n", len(missing), len(flow))
	for _, p := range missing {
		fmt.Fprintf(w, "          %s\n", p)
	}
}
