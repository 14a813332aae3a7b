// Package plan describes a load test before it runs.
//
// A [Plan] is a value: it says what is tested, what the simulated users do, how many there are and for how long,
// under which seed, and which differences matter. It never holds a connection, a clock or a goroutine, so the same
// plan can be hashed, diffed, sent to an agent and stored next to the run it produced. It refuses to know which
// drivers and behaviors exist; who does passes them as [Known].
//
// # Syntax
//
// A plan is one YAML document. The directory examples holds whole ones, [Schema] describes every key, and
// [Plan.String] prints a plan with all its defaults. Reading is strict, and [Parse] reports all problems at once,
// each with its line and column. Quantities carry their unit: 5s, 25%, 0.1pp. Aliases and tags are not allowed.
//
// # Pace
//
// workload.pace makes the whole test faster or slower and leaves what it asks of the target per operation alone.
// It multiplies
//
//   - every wait of the simulated users (see [Workload.Wait]), and
//   - every time constant of the search: budget, window, and "for" of the rules; the ramp rate, which is per second,
//     is divided by it (see [Plan.Search]).
//
// It does not touch bounded.ramp, bounded.settle and bounded.measure, which are wall-clock time as written, nor
// thresholds, numbers of users, minimum counts, step and precision.
//
// # Secrets
//
// A plan holds no secret. A value under a key like password or token must be a reference, ${ENV:NAME} or
// ${FILE:PATH}; it stays one in [Plan.String] and in the digest, and [Expand] resolves it where it is needed.
package plan
