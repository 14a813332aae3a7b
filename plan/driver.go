package plan

// The drivers of any server. The caller knows further values of target.driver; see [Known].
const (
	// External is the driver of a target that is there already, here or elsewhere.
	External = "external"
	// Process is the driver that starts a program of the plan's own.
	Process = "process"
)

// OwnHost reports whether the driver runs the target on this host.
func (t Target) OwnHost() bool { return t.Driver != External }
