package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/judge/limiter"
	"plimsoll/studies/study"
	"plimsoll/target/lab"
	"plimsoll/target/lab/netns"
)

// The kinds of faults of the held-out suite.
const (
	kindSingle  = "single"  // something that is watched, or has the consequence that is named
	kindPair    = "pair"    // two faults at once: either name is right
	kindOutside = "outside" // nothing that is watched shows it: UNKNOWN is right
)

// The names that more than one fault has among its right ones.
const (
	unknown = limiter.LimitUnknown
	cpuApp  = "cpu app"
	cpuDB   = "cpu db"
)

// heldOut are faults that no constant of the limiter was tuned on. The right names stand here
// before anything runs, by these rules:
//
//   - A fault that an indicator of the catalog watches must be named, kind and role. UNKNOWN is then a miss, and no
//     error.
//   - A fault that none watches must be UNKNOWN, after something was seen at the capacity; any name is wrong. So it
//     is with a mild dose, but where the fault alone keeps the rule and the load breaks it: there the CPU of the role
//     that the plan makes heaviest is right too.
//   - Work that a fault causes is right under the name of the resource it fills: handshakes and empty caches fill
//     cores.
//   - Of a pair either is right.
//   - A neighbor is right as host alone where it takes the target's own core; where it takes no more than the
//     memory's bandwidth, also as the CPU of the app, whose instructions it slows.
func heldOut() []fault {
	wait := func(name string) func(context.Context, *topology) (string, error) {
		return metric(fmt.Sprintf("refchat_fault_wait_seconds_total{fault=%q}", name), 1)
	}
	waits := metric("outside_wait_seconds_total", 1)
	pool := func(name string) func(context.Context, *topology) (string, error) {
		return metric(fmt.Sprintf("refchat_pool_wait_seconds_total{pool=%q}", name), 1)
	}
	return []fault{
		{
			name:   "tls-2048",
			kind:   kindSingle,
			what:   "each request comes on a connection of its own and begins with a TLS handshake, RSA 2048, at the instances",
			right:  []string{cpuApp},
			start:  45,
			most:   270,
			change: handshakes(2048),
			took:   metric("outside_tls_handshakes_total", 500),
		},
		{
			name:   "tls-4096",
			kind:   kindSingle,
			what:   "the same with RSA 4096",
			right:  []string{cpuApp},
			start:  14,
			most:   200,
			change: handshakes(4096),
			took:   metric("outside_tls_handshakes_total", 300),
		},
		{
			name:   "dns-5ms",
			kind:   kindOutside,
			what:   "each request resolves a name; the name server of its instance answers one at a time, each after 5 ms",
			right:  []string{unknown},
			start:  50,
			most:   300,
			change: within("dns 5ms"),
			took:   waits,
		},
		{
			name:   "dns-15ms",
			kind:   kindOutside,
			what:   "the same, each after 15 ms",
			right:  []string{unknown},
			start:  17,
			most:   200,
			change: within("dns 15ms"),
			took:   waits,
		},
		{
			name:   "workers-4",
			kind:   kindSingle,
			what:   "an instance handles four requests at once, and a database 2 ms away",
			right:  []string{"workers app"},
			start:  65,
			most:   390,
			change: within("workers 4", "-fault=slow-query:2ms"),
			took:   pool("workers"),
		},
		{
			name:   "workers-2",
			kind:   kindSingle,
			what:   "the same with two requests at once",
			right:  []string{"workers app"},
			start:  40,
			most:   240,
			change: within("workers 2", "-fault=slow-query:2ms"),
			took:   pool("workers"),
		},
		{
			name:   "outbound-3",
			kind:   kindSingle,
			what:   "each post calls a service that takes 40 ms, over three connections per instance",
			right:  []string{"outbound-pool app"},
			start:  34,
			most:   204,
			change: within("outbound 3 40ms"),
			took:   pool("outbound"),
		},
		{
			name:   "outbound-1",
			kind:   kindSingle,
			what:   "the same over one connection",
			right:  []string{"outbound-pool app"},
			start:  14,
			most:   200,
			change: within("outbound 1 40ms"),
			took:   pool("outbound"),
		},
		{
			name:   "limit-60",
			kind:   kindSingle,
			what:   "an instance answers 429 to more than 60 posts a second",
			right:  refusals,
			start:  28,
			most:   200,
			change: args("-fault=limit:60@createPost"),
			took:   metric("refchat_requests_refused_total", 10),
		},
		{
			name:   "limit-30",
			kind:   kindSingle,
			what:   "the same with 30 posts a second",
			right:  refusals,
			start:  14,
			most:   200,
			change: args("-fault=limit:30@createPost"),
			took:   metric("refchat_requests_refused_total", 10),
		},
		{
			name:   "cache-64",
			kind:   kindSingle,
			what:   "each cache of an instance holds 64 entries, and what is not there is read from the database",
			right:  []string{cpuDB, cpuApp},
			start:  75,
			most:   450,
			change: args("-fault=cache:64"),
			took:   metric("refchat_cache_evicted_total", 100),
		},
		{
			name:   "cache-16",
			kind:   kindSingle,
			what:   "the same with 16 entries",
			right:  []string{cpuDB, cpuApp},
			start:  75,
			most:   450,
			change: args("-fault=cache:16"),
			took:   metric("refchat_cache_evicted_total", 1000),
		},
		{
			name:   "replica-8ms",
			kind:   kindOutside,
			what:   "a post is read back from a replica before it is answered; the replica replays one post at a time, each for 8 ms",
			right:  []string{unknown},
			start:  55,
			most:   330,
			change: within("replica 8ms"),
			took:   waits,
		},
		{
			name:   "replica-20ms",
			kind:   kindOutside,
			what:   "the same, each for 20 ms",
			right:  []string{unknown},
			start:  22,
			most:   200,
			change: within("replica 20ms"),
			took:   waits,
		},
		{
			name:   "bandwidth",
			kind:   kindSingle,
			what:   "a neighbor on the generator's core, of the lowest priority, writes through memory; requests cost the instances two and a half times their CPU",
			right:  []string{limiter.LimitHost, cpuApp},
			start:  45,
			most:   270,
			change: args(heavy),
			inject: neighbor(generatorCore, 19),
			took:   ran,
		},
		{
			name:   "core-neighbor",
			kind:   kindSingle,
			what:   "the same neighbor on the servers' core, of their own priority",
			right:  []string{limiter.LimitHost},
			start:  25,
			most:   200,
			change: args(heavy),
			inject: neighbor(serverCore, 0),
			took:   ran,
		},
		{
			name:   "tracked",
			kind:   kindSingle,
			what:   "the proxy takes no more than 60 connections from the users, and drops what would open another (nft, ct count): a full table of connections",
			right:  []string{"conntrack proxy", "network-loss proxy"},
			start:  32,
			most:   200,
			inject: tracked(60),
			took:   dropped("inet", 5),
		},
		{
			name:   "pool-and-cpu",
			kind:   kindPair,
			what:   "three database connections per instance, a database 4 ms away, and requests that cost two and a half times their CPU",
			right:  []string{"db-pool app", cpuApp},
			start:  35,
			most:   210,
			change: args("-fault=pool:3", "-fault=slow-query:4ms", heavy),
			took:   metric("go_sql_wait_count_total", 500),
		},
		{
			name:   "lock-and-hot-row",
			kind:   kindPair,
			what:   "each request holds one mutex of its instance for 8 ms, and each post's transaction one row for 8 ms",
			right:  []string{"app-locks app", "db-locks db"},
			start:  25,
			most:   200,
			change: args("-fault=lock:8ms", "-fault=hot-row:8ms"),
			took:   both(wait("lock"), wait("hot-row")),
		},
		{
			name:   "quota-and-workers",
			kind:   kindPair,
			what:   "both instances may use 30 ms of each 100 ms of the core, and handle three requests at once; requests cost two and a half times their CPU",
			right:  []string{"cpu-quota app", "workers app"},
			start:  16,
			most:   200,
			change: within("workers 3", heavy),
			inject: quota("app", 0.30),
			took:   both(throttled("app"), pool("workers")),
		},
		{
			name:   "sleep-130ms",
			kind:   kindOutside,
			what:   "each post sleeps for 130 ms before it is stored: more than the rule allows, at any load",
			right:  []string{unknown},
			start:  15,
			most:   200,
			change: args("-fault=slow-post:130ms"),
			took:   wait("slow-post"),
		},
		{
			name:   "sleep-60ms",
			kind:   kindOutside,
			what:   "the same for 60 ms, less than the rule allows; requests cost two and a half times their CPU",
			right:  []string{unknown, cpuApp},
			start:  40,
			most:   240,
			change: args("-fault=slow-post:60ms", heavy),
			took:   wait("slow-post"),
		},
		{
			name:   "pauses",
			kind:   kindOutside,
			what:   "all requests of an instance stand still in the last 500 ms of each second, as with a collector that stops the world",
			right:  []string{unknown},
			start:  15,
			most:   200,
			change: args("-fault=stall:500ms/1s"),
			took:   wait("stall"),
		},
		{
			name:   "jitter",
			kind:   kindOutside,
			what:   "each request waits a random time of 120 ms on average",
			right:  []string{unknown},
			start:  15,
			most:   200,
			change: within("jitter 120ms"),
			took:   waits,
		},
	}
}

// refusals are the names of a server that refuses requests.
var refusals = []string{"refusals app"}

// within puts something around both instances, and adds arguments to them.
func within(around string, a ...string) func(*layout) {
	return func(l *layout) { l.around, l.appArgs = around, a }
}

// handshakes has nginx open a connection for each request, with TLS and a key of so many bits at
// the instances.
func handshakes(bits int) func(*layout) {
	return func(l *layout) {
		l.keep, l.appTLS, l.around = 0, true, fmt.Sprint("tls PORT ", bits)
	}
}

// both requires two counters to show their faults.
func both(
	a, b func(context.Context, *topology) (string, error),
) func(context.Context, *topology) (string, error) {
	return func(ctx context.Context, t *topology) (string, error) {
		x, err := a(ctx, t)
		if err != nil {
			return "", err
		}
		y, err := b(ctx, t)
		if err != nil {
			return "", err
		}
		return x + ", " + y, nil
	}
}

const trackRules = `table inet faults {
  chain users { type filter hook input priority 0; iifname "%[2]s" ip saddr %[3]s tcp dport 80 ct state new ct count over %[1]d counter drop; }
}
`

// tracked lets so many connections of users be open at the proxy. The kernel's own limit of tracked
// connections is one for all namespaces, and not ours to change.
func tracked(n int) func(context.Context, *topology) error {
	return func(ctx context.Context, t *topology) error {
		return t.Host("proxy").
			Run(ctx, fmt.Sprintf(trackRules, n, netns.HostDevice, t.UsersAddr()), "nft", "-f", "-")
	}
}

// packets adds up the counters in a listing of nft.
func packets(listing string) (n int) {
	words := strings.Fields(listing)
	for i, w := range words {
		if w == "packets" && i+1 < len(words) {
			k, _ := strconv.Atoi(words[i+1])
			n += k
		}
	}
	return n
}

func atLeast(what string, n, least int) error {
	if n < least {
		return fmt.Errorf("only %d %s, want at least %d", n, what, least)
	}
	return nil
}

// streamVerb is the argument with which this program is a neighbor that writes through memory.
const streamVerb = "stream"

// neighbor starts this program as one that writes through memory on some cores.
func neighbor(cores []int, nice int) func(context.Context, *topology) error {
	return func(ctx context.Context, t *topology) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		p, err := lab.Start(ctx, lab.Spec{
			Name: "neighbor",
			Path: self,
			Args: []string{streamVerb},
			CPUs: cores,
		})
		if err != nil {
			return err
		}
		t.others = append(t.others, p)
		if err := unix.Setpriority(unix.PRIO_PROCESS, p.PID(), nice); err != nil {
			return fmt.Errorf("setting the neighbor's priority: %w", err)
		}
		return nil
	}
}

// stream writes through 64 MiB of memory, more than caches hold, until its time is over or ctx
// ends; it returns how often it went through.
func stream(ctx context.Context, bytes int, most time.Duration) (rounds int) {
	words := make([]uint64, bytes/int(unsafe.Sizeof(uint64(0))))
	for end := time.Now().Add(most); ctx.Err() == nil && time.Now().Before(end); rounds++ {
		for i := 0; i < len(words); i += 8 { // a word of each cache line
			words[i]++
		}
	}
	runtime.KeepAlive(words)
	return rounds
}

// streamBytes is the size of the memory that a neighbor writes through, and streamMost the longest
// time it does so.
const (
	streamBytes = 64 << 20
	streamMost  = 10 * time.Minute
)

// ran reads the CPU time that the neighbors got.
func ran(_ context.Context, t *topology) (string, error) {
	seconds := 0.0
	for _, p := range t.others {
		cpu, err := study.CPU(p.PID())
		if err != nil {
			return "", fmt.Errorf("a neighbor ended early: %w", err)
		}
		seconds += cpu
	}
	got := int(1000 * seconds)
	return fmt.Sprintf("the neighbor got %d ms of CPU", got), atLeast("ms of CPU time", got, 1000)
}
