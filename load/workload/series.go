package workload

import (
	"maps"
	"slices"
	"strings"

	"plimsoll/load/measure"
)

// Delivery is the series of a message's whole way.
const Delivery = "delivery"

// Login is the prefix of the series of a user's login (password, connections, first loads), and
// Setup the prefix of the series of provisioning. Both are kept, and neither hides inside the
// steady state.
const (
	Login = "login"
	Setup = "setup"
)

// Socket is the series of users' event connections: each attempt to open one, and as an error each
// that was cut off or missed events.
const Socket = "websocket"

// Connect is the series in which a script's attempts to open a WebSocket are.
const Connect = "ws connect"

// OfSockets reports whether a series holds event connections, of the steady state or of logins.
// Those of storms are not among them: there they break on purpose.
func OfSockets(series string) bool {
	return series == Socket || series == Login+"_"+Socket || series == Connect
}

// OfLogins reports whether a series holds operations of logins.
func OfLogins(series string) bool { return strings.HasPrefix(series, Login) }

// Schedule is the series that holds how late every action began, as lag. The lag of an operation is
// in its own series.
const Schedule = "schedule"

// Inbox is the series of how long WebSocket events lay in the kernel before they were read: lags,
// as of Schedule.
const Inbox = "inbox"

// Prefixes of the series that a script has beside its operations: its iterations by the name of the
// action, its checks and its groups. What failed in them has the class [measure.Script].
const (
	Iteration = "iteration "
	Check     = "check "
	Group     = "group "
)

// OfScript reports whether a series is one of these.
func OfScript(series string) bool {
	return strings.HasPrefix(series, Iteration) || strings.HasPrefix(series, Check) ||
		strings.HasPrefix(series, Group)
}

// Operation reports whether a series holds operations of simulated users, be it in the steady
// state, in a login or in a storm: all that has a lag of the generator's.
func Operation(series string) bool {
	return series != Delivery && series != Schedule && series != Inbox && !OfScript(series) &&
		!strings.HasPrefix(series, Setup)
}

// Steady reports whether a series holds operations of the steady state: those for which the name
// "op" in a rule stands.
func Steady(series string) bool {
	return !OfAnswers(series) && !OfScript(series) && series != Delivery && series != Schedule &&
		series != Inbox && !strings.HasPrefix(series, Login) &&
		!strings.HasPrefix(series, Setup) &&
		!strings.HasPrefix(series, StormPrefix)
}

// OfIterations reports whether a series holds the iterations of a script.
func OfIterations(series string) bool { return strings.HasPrefix(series, Iteration) }

// OfChecks reports whether a series holds the outcomes of a check of a script.
func OfChecks(series string) bool { return strings.HasPrefix(series, Check) }

// Beyond reports whether a series is beyond operations: what it counts is in the series of
// operations as well ([OfAnswers], [OfScript]), and adds nothing to their number.
func Beyond(series string) bool { return OfAnswers(series) || OfScript(series) }

// Together returns the windows of all series that sel accepts as one of this name.
func Together(
	name string,
	of map[string]*measure.Window,
	sel func(series string) bool,
) *measure.Window {
	all := measure.NewWindow(name)
	for _, series := range slices.Sorted(maps.Keys(of)) {
		if sel(series) {
			all.Merge(of[series])
		}
	}
	return all
}
