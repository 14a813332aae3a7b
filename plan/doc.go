// Package plan describes a load test before it runs.
//
// A [Plan] is a value: it holds the target, the behavior and number of the simulated users, the
// durations, the seed, and the differences that matter. It never holds a connection, a clock or a
// goroutine, so the same plan can be hashed, diffed, sent to an agent and stored next to the run it
// produced. It does not know which drivers and behaviors exist; the caller passes them as [Known].
//
// # Syntax
//
// A plan is one YAML document. The directory examples holds whole ones, [Schema] describes every
// key, and [Plan.String] prints a plan with all its defaults. Reading is strict, and [Parse]
// reports all problems at once, each with its line and column. Quantities carry their unit: 5s,
// 25%, 0.1pp. Aliases and tags are not allowed.
//
// # Pace
//
// workload.pace makes the whole test faster or slower and does not change the work of the target
// per operation. It multiplies
//
//   - every wait of the simulated users (see [Workload.Wait]), and
//   - every time constant of the search: window, and "for", "over" and "grace" of the rules; the ramp rate, which is
//     per second, is divided by it (see [Plan.Search]).
//
// It does not touch unbounded.budget, workload.arrival.rate, bounded.ramp, bounded.settle,
// bounded.measure and the times in bounded.slo, which are wall-clock time as written, nor
// thresholds, numbers of users, minimum counts, step and precision. Only the default of
// unbounded.budget, an hour, is multiplied by it.
//
// # Sizing
//
// sizing is a ladder of bounded trials on one deployment, and computes the cost of such machines:
//
//	sizing: {steps: [50, 200, 400], ramp: 5/s to 30/s, settle: 1m, hold: 10m, offer: CX23}
//	prices: [{name: CX23, vcpu: 2, memory: 4GB, price: 6, currency: EUR}]
//
// # Arrivals
//
// Users are a closed model: a user who waits for an answer sends no other request. workload.arrival
// adds an open one, whose actions come by a schedule from the start of a run to its end:
//
//	arrival: 200/s
//	arrival: {rate: 200/s, process: poisson, in_flight: 500, queue: 10000}
//
// The k-th arrival of a plan and seed comes at the same moment on any number of agents. See
// [Arrival].
//
// # Gates
//
// gates changes limits on the generator's own health, by the names of [DefaultGates]:
//
//	gates: {lag: {amber: 10ms, red: 50ms}, fds_free: {red: 200}}
//
// [Plan.String] prints only the limits that a plan changes; a run stores all that held.
//
// # Secrets
//
// A plan holds no secret. A value under a key like password or token must be a reference,
// ${ENV:NAME} or ${FILE:PATH}; it stays one in [Plan.String] and in the digest, and [Expand]
// resolves it where it is needed.
package plan
