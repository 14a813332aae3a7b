// Package record defines the stored form of a run: its types, a writer that puts them on disk as
// they happen, and a reader that also reads killed runs.
//
// # Files
//
//	manifest.json   plan, host and target of the run, and its end
//	windows.hdr     histograms per op name and second
//	events.jsonl    SLO evaluations, decisions of the search, findings, phases
//	validity.json   findings about the validity of the run, written when it is sealed
//	series/         a block of time series (package series)
//
// The formats are documented in docs/format/run.md. Raw first: everything is written while it
// happens; reports are functions of these files. A [Manifest] in state [Running] whose process is
// gone is a killed run: it reads, and it is never valid.
//
// The package does not judge: it stores numbers and findings without grading them.
package record
