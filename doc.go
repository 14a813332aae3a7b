// Package plimsoll is the root of a tool that finds how far a messaging server may be loaded, and
// says whether a new release, another database or another deployment has moved that line.
//
// The root holds these words, and [Main]. Each word has one meaning, in code, reports and documents;
// the program is cmd/plimsoll, its verbs are in cmd/verbs and cmd/internal, and the packages stand in
// layers that internal/arch tests.
//
// # For programs of others
//
// A program with a kind of server of its own, or with users who do something else, calls [Main] with
// a [Service]. It needs these packages; docs/own-behavior.md begins with 60 lines. Their names change
// with a line in CHANGELOG.md that says what to write instead.
//
//   - dialect: [dialect.Dialect] with a [dialect.Registry] of behaviors, settings, rules and graphs; one
//     of the dialects below it, whose users may do more.
//   - load/workload: [workload.Behavior], [workload.Actor], [workload.User] and [workload.Env]; a
//     [workload.Cast] with [workload.Caller] and [workload.EventSocket]; [workload.Ledger],
//     [workload.Message] and [workload.Tally].
//   - load/wire: [wire.Request] and [wire.Response]; [wire.Client] and [wire.WS] for more.
//   - load/measure: [measure.Class], [measure.Registry].
//   - load/clock: the time of a run.
//   - plan: the plan, for a dialect's rules and notes.
//   - stats: statistics, for chapters of a report.
//
// A program that also starts its server, as newsfeed does, has a driver, and needs:
//
//   - run/deploy: [deploy.OwnDriver].
//   - run/deploy/stores: where the stores of a server are.
//   - run/health/sources: a server's own records of its requests.
//   - target: what is deployed.
//   - target/process: one program as a server.
//   - target/lab: child processes.
//   - record: the stored run, for those records.
//   - watch/series: series of numbers, for those records.
//
// # Where things are
//
//   - cmd, console, report: what people type, watch and read; cmd/exit has the exit statuses.
//   - run: everything that executes. preflight asks before; deploy brings a target up; users has the
//     simulated users and the agents that joined; health reads the gates, by which trial voids a run;
//     session carries out one run, trial its load and capacity its search; compare, sizing and
//     bisect carry out many; duet pauses the arms that take turns, and turns has their places; live
//     and audience show a run, export passes its series on; rating measures what this host's
//     generator can drive.
//   - judge: everything that decides, and executes nothing: verdict, comparison, bisect, suspects,
//     limiter, drift, sizing, attribution, and attribution/names for what was renamed.
//   - evidence: what can be asked of a stored run.
//   - record: a run's folder, its writer and its reader; store finds runs again; importer has the
//     results of other tools, in a package each.
//   - plan: what is asked, a table of keys and of gates. stats: mathematics, on the ground floor.
//   - load: clock, engine, wire (HTTP and WebSocket), workload (what users do, and what was omitted),
//     measure (histograms), script (behaviors in JavaScript), fleet (agents), which join over NATS.
//   - dialect: knowledge of one kind of server, in a package each: its actions and its API; and the
//     rules of a plan that names none.
//   - target: drivers, and lab with processes, namespaces, control groups, database (start, snapshot,
//     restore), and a package each for postgresql, mysql and nginx.
//   - watch: probes of hosts and databases, statements (query), profiles, and series with PromQL.
//   - reference: servers to be measured, and data sets. studies, newsfeed: modules beside the product.
//
// # What is done
//
//   - plan: what will be offered to which target under which seed; immutable, with a digest.
//   - phase: a stretch of a run: ramp, settle, soak, measure, search, audit.
//   - stage: a storm in a plan, with a time of its own.
//   - behavior: what one simulated user does.
//   - mix: how often the users of a behavior do each action. Requested by the plan, achieved in a run.
//   - storm: what some of the users do at nearly the same time, apart from what they do by themselves.
//   - trial: doing it: one plan, one target.
//   - bounded test: a trial with a fixed number of users.
//   - unbounded test: a trial that searches for the capacity.
//   - target: a deployed system under test.
//   - agent, coordinator: a process that has users of a run, or reads the probes of a host, and the one that leads it.
//
// # What is measured
//
//   - op: one finished operation, with four instants: intended (the schedule), due (the generator got to it), sent,
//     done.
//   - lag: due - intended. The generator was late; too much of it voids a run and never makes it slow.
//   - wait: sent - due. No place in flight or no connection; never the generator's own work.
//   - service: done - sent. The target.
//   - response: wait + service. What "latency" means in a rule.
//   - delivery: from the sending of a post by its author's client to its event received by another user's.
//   - ledger: which message was accepted, who should have had its event, who did, and whether it can be read at the end.
//   - window: all ops of one name in one interval, as a histogram. In a plan, unbounded.window is how far back a rule looks, bounded.window the
//     part of the measured phase that counts.
//   - gate: a reading of the health of generator and host, with an amber and a red limit.
//   - finding: what is to be said of a run's validity, amber or red.
//
// # What is concluded
//
//   - run: what a trial leaves behind. The run is the unit of replication: seconds within one are not repetitions.
//   - sample: one number from each of n runs.
//   - SLO: a rule that must hold, such as p99(post) < 300ms.
//   - capacity, or supported users: the most users at which every SLO holds.
//   - limiter: what stopped it, named by evidence.
//   - attribution: the parts of a difference in cost, which add up to it.
//   - suspect: a commit that touches a part.
//   - arm: a named variant of the target; one of them is base.
//   - block: one run of every arm on every database, adjacent in time, in balanced and seeded order. With two arms
//     on one database: a pair.
//   - comparison: arms in blocks.
//   - endpoint, margin: what is compared, and how far its interval may reach for *same*.
//   - not judged: an endpoint that the plan could not decide, with what that would take.
//   - typical: the shift of response times between two arms, each kind of operations against itself, weighted by counts.
//   - look: a planned moment at which the blocks so far are judged.
//   - verdict: better, worse, same, inconclusive or invalid; indicative below six blocks.
package plimsoll
