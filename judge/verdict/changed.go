package verdict

// A KindShift is a kind of operations behind typical(OP) whose response times changed.
type KindShift struct {
	Kind string `json:"kind"`
	// Effect is the shift of the kind's own response times, as a ratio less one, with its 95 %
	// interval by itself.
	Effect float64 `json:"effect"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
	// Share is the part of the endpoint's shift that is the kind's, by its weight: the shares of
	// all kinds have the sum 1, and those that go the other way are below 0.
	Share float64 `json:"share"`
	Q     float64 `json:"q"` // the share of false ones among findings as certain as this one
}
