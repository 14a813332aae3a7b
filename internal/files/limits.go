package files

// Limits of files that a person or a plan names, in bytes.
const (
	MaxSmall  = 1 << 20  // plans, specs, mixes, texts of reports
	MaxAnswer = 16 << 20 // an answer of a Prometheus server
)
