package plan

// The drivers of any server. The caller knows further values of target.driver; see [Known].
const (
	// External is the driver of a target that already runs, here or elsewhere.
	External = "external"
	// Process is the driver that starts a program of the plan's own.
	Process = "process"
)

// OwnHost reports whether the driver runs the target on this host.
func (t Target) OwnHost() bool { return t.Driver != External }

// ProbeContainer is the kind of a [Probe] of a container on this host, and the key of its name: a
// word that is a driver's too.
const ProbeContainer = "container"

// keyProcess is the key of the process of an [Arrival]: a word that is a driver's too.
const keyProcess = Process
