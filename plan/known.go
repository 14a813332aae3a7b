package plan

// Known holds the names that exist where a plan is to be carried out. A nil list is not checked, as
// in [Parse]; package plan itself has no list of drivers and behaviors.
type Known struct {
	Drivers   []string
	Behaviors []string
	// Profiles lists, by driver, the accepted values of target.profile; the first is the usual one.
	Profiles map[string][]string
	// Topologies lists the drivers that can deploy a target.topology.
	Topologies []string
	// Arrivals lists the behaviors that can serve workload.arrival.
	Arrivals []string
	// Ops lists the operations that a latency rule or a margin may name besides "op" and
	// "delivery".
	Ops []string
	// Apart lists further operations, which only a margin may name: logins and storms are not part
	// of "op".
	Apart []string
	// Roles lists, by driver, the hosts or processes whose CPU is visible; the plan's agents add
	// theirs. A driver without an entry is not checked.
	Roles map[string][]string
	// Mixes lists the names of mixes besides [MixDefault] and [MixCustom].
	Mixes []string
	// Actions lists, by behavior, the actions that may have a weight.
	Actions map[string][]string
	// Storms lists, by behavior, the kinds of storms that its users can take part in.
	Storms map[string][]string
	// ServerOnly accepts a plan that only names its target: without workload and test.
	ServerOnly bool
	// Refused returns further refusals of the program: settings that no behavior has, a driver that
	// cannot serve the behavior. nil refuses nothing. The plan may have other errors.
	Refused func(*Plan) []Refusal
}

// A Refusal is something in a plan that the program cannot carry out.
type Refusal struct {
	// Path is the key in the file, such as workload.params.speed.
	Path string
	// Text describes the error and the accepted values, without the path.
	Text string
}
