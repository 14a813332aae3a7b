// Package report turns the records of runs into documents for people.
//
// # One document, several forms
//
// A [Document] is plain data: a set of parts, some of which are missing. [From] makes a document of
// the runs of a comparison, [FromRows] of given numbers, [FromReleases] of releases over many
// comparisons; the document of load steps holds a [SizingPart]. The table of parts gives the order
// in which they are filled and read. The table of forms ([Document.Forms]) lists the forms in which
// a document is written. Markdown and HTML know only one kind of sheet (a top, a first screen,
// sections). What a reader needs to trust a number (the smallest change that could have been found,
// the validity of the runs behind it) is a part of the document, so that no form can leave it out by
// accident.
//
// # Files
//
// A file uses those below it. From the bottom up:
//
//   - words.go and number.go: how texts, numbers and differences are written.
//   - The data, by role: input.go is the evidence, and a [Document] consists of results.go (what was
//     judged), measured.go (what users, operations and rules did), conduct.go (how the runs went),
//     graphdata.go (curves) and subjects.go (the other subjects).
//   - builder.go, tables.go, lines.go, notices.go: what all parts are filled and laid out with.
//   - The parts, one file each: its filling and its sections. Package draw draws the pictures.
//   - from.go, parts.go and warnings.go put the document together; sheet.go, screen.go, csv.go,
//     junit.go and comment.go write it, and forms.go lists them.
//
// # Order
//
// First the screen that answers: verdicts, their picture, the limits of the arms, the warnings that
// matter, the next steps. Below it, in HTML in folds and in Markdown partly in a second file
// ([FullMarkdown]): comments, action items, setup, results: supported users with the differences by
// version and by database, the rules that stopped the searches, the endpoints, the operations, the
// rules against their thresholds, the validity of every run, and the graphs of the bounded and the
// unbounded tests in two columns.
//
// # Numbers
//
// A number has no more digits than its interval supports; a difference has its sign; users are
// whole; times have three significant digits. An unknown value is written as a dash, in JSON as
// null, and never as zero.
//
// # Drafted text
//
// Comments and action items are sentences made from the findings by rules, the same for the same
// input. A person may replace them. They claim nothing that the tables do not hold.
//
// # Out of scope
//
// It judges nothing: every conclusion comes from package verdict. It reads no file, no clock and no
// environment, and writes only to the writer that it is given. All functions are safe for
// concurrent use.
package report
