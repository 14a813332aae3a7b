package report

// A part is one kind of content of the documents on some subjects. Where it is missing it has no
// sections.
type part struct {
	of Subject
	// title of the fold that HTML shows it in; neighbors with one title share a fold
	fold     string
	fill     func(*builder)           // takes its data from the input of [From]; nil for none
	sections func(Document) []section // nil for none
}

// documentParts returns the parts of all documents in the order in which they are read. [From] fills them
// in this order.
func documentParts() []part {
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
		{Runs, "Why", (*builder).why, Document.whySections},
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
		{Ladder, "", nil, Document.sizingSections},
		{Releases, "", nil, Document.trendSections},
	}
}
