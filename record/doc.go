// Package record is what a run leaves behind: its types, a writer that puts them on disk as they happen, and a
// reader that also reads what a killed run left.
//
// # Files
//
//	manifest.json   what was run, on what, and how it ended
//	windows.hdr     histograms per op name and second
//	events.jsonl    SLO evaluations, decisions of the search, findings, phases
//	validity.json   whether the run may be believed, written when it is sealed
//	series/         a block of time series (package series)
//
// The formats are documented in docs/format/run.md. Raw first: everything is written while it happens; reports are
// functions of these files. A [Manifest] in state [Running] whose process is gone is a killed run: it reads, and it
// is never valid.
//
// The package refuses to judge: it stores numbers and findings, and does not know what is good.
package record
