package record

// A Gathering describes a comparison that was put together from stored runs after they were made.
// It is not stored: the runs are, and the same runs give the same comparison.
type Gathering struct {
	// How states how the blocks came about, a sentence each.
	How []string
	// Warnings are facts by which the arms differ beside the target, or by which time and arm are
	// mixed up.
	Warnings []string
}
