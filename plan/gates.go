package plan

import "slices"

// Sources of limits: the survey of load generators that this project began with (its section 5.3),
// and our own choice where the survey has no number.
const (
	survey = "survey 5.3"
	ourOwn = "own"
)

// DefaultGates returns all gates with their limits, in the order of reports. It is the only list of
// gates: plans, their schema, docs/validity.md, causes and the judgement of runs are made of it. A
// gate of the trial's own records is read in run/trial, every other in run/health.
func DefaultGates() []Gate { return slices.Clone(gateTable) }

// gateTable has the gates in the order of reports.
var gateTable = []Gate{
	{
		Name: "lag", What: "p99 of how late actions began, or operations were sent",
		Unit: "ms", Amber: 5, Red: 20,
		Source: "survey of generators, 5.3", Cause: ByGenerator,
		TimesOnly: true, Crowded: true,
		Detail: "the worse of the two",
	}, {
		Name: "late", What: "actions begun, or operations sent, more than 10 ms late",
		Unit: "%", Amber: 1, Red: 5,
		Source: "survey 5.3; red our own", Cause: ByGenerator,
		TimesOnly: true, Crowded: true,
		Detail: "the worse of the two shares",
	}, {
		Name: "users", What: "active of the wanted users, at the worst moment",
		Unit: "%", Amber: 99, Red: 97, Floor: true,
		Source: survey, Cause: ByTarget,
		Search: HeldWindows, TimesOnly: true,
		Without: "without users",
	}, {
		Name: "rate", What: "arrivals begun of those that the schedule wanted",
		Unit: "%", Amber: 99, Red: 97, Floor: true,
		Source: survey, Cause: ByTarget,
		Over: WholePhase, Search: HeldWindows, TimesOnly: true,
		Detail:  "one that waits for a place has begun, a dropped one has not",
		Without: "without arrivals",
	}, {
		Name: "shares",
		What: "points between a server's part of the requests and its part of the users, of " +
			"the worst server; what chance explains is taken off",
		Unit: "%", Amber: 2, Red: 5,
		Source: ourOwn, Cause: ByTarget,
		Detail:  "by the server's own count, over 10 s",
		Without: "with one server",
	}, {
		Name: "cpu", What: "this process' share of the cores it may use",
		Unit: "%", Amber: 70, Red: 85,
		Source: "survey 5.3: k6 80 %, Hyperfoil 80 %, Locust 90 %", Cause: ByGenerator,
		UseOfCPU: true,
	}, {
		Name: "core", What: "the busiest of the generator's cores, whoever uses it",
		Unit: "%", Amber: 70, Red: 85, DuetRed: 100,
		Source: survey, Cause: ByGenerator,
		TimesOnly: true, Crowded: true, UseOfCPU: true,
		Without: "on shared cores",
	}, {
		Name: "sched", What: "p99 of how long runnable goroutines waited for a thread",
		Unit: "ms", Amber: 2, Red: 10,
		Source: survey, Cause: ByGenerator,
		Over: SecondsAlone, TimesOnly: true, Crowded: true,
	}, {
		Name: "pause",
		What: "longest stop of all goroutines in a second, mean over the seconds",
		Unit: "ms", Amber: 2, Red: 10,
		Source: survey, Cause: ByGenerator,
		Over: SecondsAlone, Search: EachSecond, TimesOnly: true,
	}, {
		Name: "gc",
		What: "CPU time of the garbage collector, of all CPU time this process could have, " +
			"over 10 s",
		Unit: "%", Amber: 10, Red: 20,
		Source: survey, Cause: ByGenerator,
	}, {
		Name: "steal", What: "time that the hypervisor took from the generator's cores",
		Unit: "%", Amber: 1, Red: 3, DuetRed: 75,
		Source: survey, Cause: ByHost,
		TimesOnly: true,
	}, {
		Name: "target_steal",
		What: "time that the hypervisor took from the target's cores, over 10 s",
		Unit: "%", Amber: 2, Red: 5, DuetRed: 75,
		Source: ourOwn, Cause: ByHost,
		TimesOnly: true,
		Without:   "on shared cores",
	}, {
		Name: "others",
		What: "CPU of the target's cores that went neither to the target nor idle nor to the " +
			"hypervisor",
		Unit:      "%",
		Amber:     15,
		Red:       30,
		DuetRed:   75,
		Source:    ourOwn,
		Cause:     ByHost,
		TimesOnly: true,
		Detail:    "where both are known: interrupts, and other programs on the host; over 10 s",
	}, {
		Name: "throttled", What: "time in which a CPU quota held this process back",
		Unit: "%", Amber: 1, Red: 3,
		Source: survey, Cause: ByGenerator,
	}, {
		Name: "wait", What: "waits for a connection of 1 ms or more, of all response time",
		Unit: "%", Amber: 1, Red: 5,
		Source: survey, Cause: ByTarget,
		Search: HeldWindows, TimesOnly: true,
		Without: "beside arrivals",
	}, {
		Name: "inbox",
		What: "p99 of how long WebSocket events lay in the kernel before they were read",
		Unit: "ms", Amber: 50, Red: 500,
		Source: "survey 5.3; red our own: this client drops none", Cause: ByGenerator,
		TimesOnly: true, Crowded: true,
	}, {
		Name: "fds", What: "open files, of the limit",
		Unit: "%", Amber: 70, Red: 90,
		Source: survey, Cause: ByGenerator,
		Over: WorstMoment,
	}, {
		Name:  "fds_free",
		What:  "open files that are left beyond the most that were opened in a second",
		Amber: 200, Red: 20, Floor: true,
		Source: ourOwn, Cause: ByGenerator,
		Over: WorstMoment,
	}, {
		Name: "ports", What: "ephemeral ports in use or in TIME_WAIT, of the range",
		Unit: "%", Amber: 70, Red: 90,
		Source: survey, Cause: ByEither,
		Over: WorstMoment,
	}, {
		Name: "drops",
		What: "packets and TCP segments that this host threw away, of the segments that it " +
			"received, over 10 s",
		Unit: "%", Amber: 0.1, Red: 0.5,
		Source: "survey 5.3 has any; limits our own", Cause: ByGenerator,
		TimesOnly: true,
	}, {
		Name: "memory", What: "memory of this host that is not available",
		Unit: "%", Amber: 70, Red: 90,
		Source: survey, Cause: ByEither,
		Over: WorstMoment,
	}, {
		Name: "bursts",
		What: "most actions begun in 100 ms, of the mean; what chance explains is taken off",
		Unit: "x", Amber: 3, Red: 10,
		Source: survey, Cause: ByGenerator,
		Over: WholePhase, Search: HeldWindows, TimesOnly: true, Crowded: true,
		Detail: "in a search the worst window",
	}, {
		Name: "little",
		What: "user-seconds that think and action times do not account for (Little's law)",
		Unit: "%", Amber: 3, Red: 10,
		Source: survey, Cause: ByGenerator,
		Over: WholePhase, Search: HeldWindows, TimesOnly: true, Crowded: true,
		Without: "without users",
	}, {
		Name: "script", What: "iterations of the script that ended in an exception, of all",
		Unit: "%", Amber: 0, Red: 1,
		Source: ourOwn, Cause: ByEither,
		Over: WholePhase, Search: HeldWindows,
		Without: "without a script",
	}, {
		Name:   "clock",
		What:   "offset between the clocks of agents and coordinator",
		Unit:   "ms",
		Amber:  50,
		Red:    500,
		Source: survey,
		Cause:  ByGenerator,
		Over:   WorstMoment,
		Detail: "of [other hosts](method/agents.md#clocks) its error, and deliveries before their " +
			"sending",
	}, {
		Name: "headroom",
		What: "rest of the users, or operations a second, that this host was calibrated to " +
			"drive",
		Unit: "%", Amber: 40, Red: 20, Floor: true,
		Source: survey, Cause: ByGenerator,
		Over: WorstMoment,
	},
}
