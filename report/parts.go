package report

import "fmt"

// A Subject is what a document reports on.
type Subject uint8

// The subjects of documents.
const (
	Runs     Subject = 1 << iota // the runs of a comparison
	Numbers                      // numbers that were given
	Ladder                       // load steps
	Releases                     // releases over many comparisons
)

// Subject returns what the document reports on.
func (d Document) Subject() Subject {
	switch {
	case d.Given != nil:
		return Numbers
	case d.Sizing != nil:
		return Ladder
	case d.Trend != nil:
		return Releases
	}
	return Runs
}

// A part is one kind of content of the documents on some subjects. Where it is missing it has no sections.
type part struct {
	of       Subject
	fold     string                   // title of the fold that HTML shows it in; neighbors with one title share a fold
	fill     func(*builder)           // takes its data from the input of [From]; nil for none
	sections func(Document) []section // nil for none
}

// parts returns the parts of all documents in the order in which they are read. [From] fills them in this order.
func parts() []part {
	const (
		results  = "Supported users, limiters and endpoints"
		protocol = "Protocol, other metrics and stability"
		users    = "Operations and users"
		validity = "Validity of the runs"
	)
	return []part{
		{Runs, "Comments and action items", nil, Document.textSections},
		{Runs, "Setup", (*builder).setup, Document.setupSections},
		{Runs, "Pages of the runs", (*builder).pages, Document.pageSections},
		{Runs, results, nil, Document.resultsHeads},
		{Runs, results, (*builder).capacities, Document.capacitySections},
		{Runs, results, (*builder).limiters, Document.limiterSections},
		{Runs, results, nil, Document.endpointSections},
		{Numbers, "", nil, Document.givenSections},
		{Runs | Numbers, results, nil, Document.blockSections},
		{Runs, results, nil, Document.databaseSections},
		{Numbers, "", nil, Document.asideSections},
		{Numbers, "", nil, Document.sourceSections},
		{Runs, protocol, (*builder).canaries, Document.protocolSections},
		{Runs, protocol, nil, Document.shiftSections},
		{Runs, protocol, nil, Document.secondarySections},
		{Runs, protocol, (*builder).stability, Document.stabilitySections},
		{Runs, users, (*builder).operations, Document.opSections},
		{Runs, users, (*builder).sides, Document.sideSections},
		{Runs, users, (*builder).users, Document.userSections},
		{Runs, users, (*builder).acknowledgedLost, nil},
		{Runs, "Rules", (*builder).rules, Document.ruleSections},
		{Runs, validity, (*builder).runs, Document.validitySections},
		{Runs, validity, (*builder).gates, Document.gateSections},
		{Runs, validity, (*builder).disturbances, nil},
		{Runs, "Graphs", (*builder).graphs, Document.graphSections},
		{Runs, "More", (*builder).chapters, Document.chapterSections},
		{Ladder, "", nil, ofSizing((*Sizing).methodSection)},
		{Ladder, "", nil, ofSizing((*Sizing).setupSection)},
		{Ladder, "", nil, ofSizing((*Sizing).stepSection)},
		{Ladder, "", nil, ofSizing((*Sizing).adviceSection)},
		{Ladder, "", nil, ofSizing((*Sizing).offerSection)},
		{Ladder, "", nil, ofSizing((*Sizing).failureSection)},
		{Ladder, "", nil, ofSizing((*Sizing).driftSection)},
		{Ladder, "", nil, ofSizing((*Sizing).runSection)},
		{Releases, "", nil, Document.trendSections},
	}
}

// ofSizing is a section of a sizing, left out where it is empty.
func ofSizing(f func(*Sizing) section) func(Document) []section {
	return func(d Document) []section {
		if s := f(d.Sizing); !s.empty() {
			return []section{s}
		}
		return nil
	}
}

// sheet lays a document out.
func (d Document) sheet() sheet {
	var s sheet
	of := d.Subject()
	switch of {
	case Numbers:
		s = d.givenTop()
	case Ladder:
		s = d.Sizing.top()
	case Releases:
		s = d.Trend.top()
	default:
		s = d.top()
	}
	for _, p := range parts() {
		if p.of&of == 0 || p.sections == nil {
			continue
		}
		more := p.sections(d)
		if len(more) == 0 {
			continue
		}
		title := p.fold
		if of != Runs { // short enough without folds
			title = ""
		}
		if n := len(s.folds); n == 0 || s.folds[n-1].title != title {
			s.folds = append(s.folds, fold{title: title})
		}
		last := &s.folds[len(s.folds)-1]
		last.sections = append(last.sections, more...)
	}
	return s
}

// top is what a comparison's report begins with.
func (d Document) top() sheet {
	s := sheet{title: "Performance Comparison", arms: d.armTitles(), front: d.front(), warnings: d.Warnings}
	s.brief, s.full = d.briefSections(), FullFile
	s.graphs = Graphs(d)
	s.footer = fmt.Sprintf("Comparison %s, made from stored runs by %s.", orDash(d.Comparison), orDash(d.tool()))
	done := "complete"
	if !d.State.Complete {
		done = "not complete"
		text := fmt.Sprintf(" (%s): %d of %d blocks can be judged.", d.State.ended(), d.State.Judged, d.State.Planned)
		s.alerts = append(s.alerts, alert{"Not complete", text})
	}
	s.about = fmt.Sprintf("%s · %s · %s", d.Name, done, d.State.judgedText())
	if len(d.Verdicts) == 0 {
		s.alerts = append(s.alerts, alert{"Nothing was judged.", ""})
	}
	return s
}
