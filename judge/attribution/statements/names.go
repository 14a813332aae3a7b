package statements

// The names by which the first users of this package know its types.
type (
	Attribution = Difference
	Finding     = ChangedStatement
	Figure      = StatementMeasure
	Block       = PairedCensus
	Reading     = Issued
)
