package main

import (
	"cmp"
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
	of := func(kind string) func(string, string, string, int, reader, ...part) fault {
		return func(name, what, right string, start int, took reader, parts ...part) fault {
			f := limits(name, what, right, start, max(200, 6*start), took, parts...)
			f.kind = kind
			return f
		}
	}
	single, pair, outside := of(kindSingle), of(kindPair), of(kindOutside)
	wait := func(fault string) reader {
		return metric(fmt.Sprintf("refchat_fault_wait_seconds_total{fault=%q}", fault), 1)
	}
	pool := func(name string) reader {
		return metric(fmt.Sprintf("refchat_pool_wait_seconds_total{pool=%q}", name), 1)
	}
	refused := metric("refchat_requests_refused_total", 10)
	waits := metric("outside_wait_seconds_total", 1)
	return []fault{
		single("tls-2048", "each request comes on a connection of its own and begins with a TLS handshake, "+
			"RSA 2048, at the instances", cpuApp, 45,
			metric("outside_tls_handshakes_total", 500), handshakes(2048)),
		single("tls-4096", "the same with RSA 4096", cpuApp, 14,
			metric("outside_tls_handshakes_total", 300), handshakes(4096)),
		outside("dns-5ms", "each request resolves a name; the name server of its instance answers one at "+
			"a time, each after 5 ms", unknown, 50, waits, within("dns 5ms")),
		outside("dns-15ms", "the same, each after 15 ms", unknown, 17, waits, within("dns 15ms")),
		single("workers-4", "an instance handles four requests at once, and a database 2 ms away",
			"workers app", 65, pool("workers"), within("workers 4", "-fault=slow-query:2ms")),
		single("workers-2", "the same with two requests at once",
			"workers app", 40, pool("workers"), within("workers 2", "-fault=slow-query:2ms")),
		single("outbound-3", "each post calls a service that takes 40 ms, over three connections per "+
			"instance", "outbound-pool app", 34, pool("outbound"), within("outbound 3 40ms")),
		single("outbound-1", "the same over one connection",
			"outbound-pool app", 14, pool("outbound"), within("outbound 1 40ms")),
		single("limit-60", "an instance answers 429 to more than 60 posts a second",
			refusals, 28, refused, args("-fault=limit:60@createPost")),
		single("limit-30", "the same with 30 posts a second",
			refusals, 14, refused, args("-fault=limit:30@createPost")),
		single("cache-64", "each cache of an instance holds 64 entries, and what is not there is read from "+
			"the database", "cpu db or cpu app", 75,
			metric("refchat_cache_evicted_total", 100), args("-fault=cache:64")),
		single("cache-16", "the same with 16 entries", "cpu db or cpu app", 75,
			metric("refchat_cache_evicted_total", 1000), args("-fault=cache:16")),
		outside("replica-8ms", "a post is read back from a replica before it is answered; the replica "+
			"replays one post at a time, each for 8 ms", unknown, 55, waits, within("replica 8ms")),
		outside("replica-20ms", "the same, each for 20 ms", unknown, 22, waits, within("replica 20ms")),
		single("bandwidth", "a neighbor on the generator's core, of the lowest priority, writes through "+
			"memory; requests cost the instances two and a half times their CPU",
			"host or cpu app", 45, ran, args(heavy), neighbor(generatorCore, 19)),
		single("core-neighbor", "the same neighbor on the servers' core, of their own priority",
			limiter.LimitHost, 25, ran, args(heavy), neighbor(serverCore, 0)),
		single("tracked", "the proxy takes no more than 60 connections from the users, and drops what "+
			"would open another (nft, ct count): a full table of connections",
			"conntrack proxy or network-loss proxy", 32, dropped("inet", 5), tracked(60)),
		pair("pool-and-cpu", "three database connections per instance, a database 4 ms away, and requests "+
			"that cost two and a half times their CPU", "db-pool app or cpu app", 35,
			metric("go_sql_wait_count_total", 500),
			args("-fault=pool:3", "-fault=slow-query:4ms", heavy)),
		pair("lock-and-hot-row", "each request holds one mutex of its instance for 8 ms, and each post's "+
			"transaction one row for 8 ms", "app-locks app or db-locks db", 25,
			both(wait("lock"), wait("hot-row")), args("-fault=lock:8ms", "-fault=hot-row:8ms")),
		pair("quota-and-workers", "both instances may use 30 ms of each 100 ms of the core, and handle "+
			"three requests at once; requests cost two and a half times their CPU",
			"cpu-quota app or workers app", 16,
			both(throttled("app"), pool("workers")), within("workers 3", heavy), quota("app", 0.30)),
		outside("sleep-130ms", "each post sleeps for 130 ms before it is stored: more than the rule "+
			"allows, at any load", unknown, 15, wait("slow-post"), args("-fault=slow-post:130ms")),
		outside("sleep-60ms", "the same for 60 ms, less than the rule allows; requests cost two and a half "+
			"times their CPU", unknown+" or cpu app", 40,
			wait("slow-post"), args("-fault=slow-post:60ms", heavy)),
		outside("pauses", "all requests of an instance stand still in the last 500 ms of each second, as "+
			"with a collector that stops the world", unknown, 15,
			wait("stall"), args("-fault=stall:500ms/1s")),
		outside("jitter", "each request waits a random time of 120 ms on average", unknown, 15,
			waits, within("jitter 120ms")),
	}
}

// refusals is the name of a server that refuses requests.
const refusals = "refusals app"

// within puts something around both instances, and adds arguments to them.
func within(around string, a ...string) part {
	return changes(func(l *layout) { l.around, l.appArgs = around, a })
}

// handshakes has nginx open a connection for each request, with TLS and a key of so many bits at
// the instances.
func handshakes(bits int) part {
	return changes(func(l *layout) {
		l.keep, l.appTLS, l.around = 0, true, fmt.Sprint("tls PORT ", bits)
	})
}

// both requires two counters to show their faults.
func both(a, b reader) reader {
	return func(ctx context.Context, t *topology) (string, error) {
		x, err := a(ctx, t)
		y, berr := b(ctx, t)
		return x + ", " + y, cmp.Or(err, berr)
	}
}

const trackRules = `table inet faults {
  chain users { type filter hook input priority 0; iifname "%[2]s" ip saddr %[3]s tcp dport 80 ct state new ct count over %[1]d counter drop; }
}
`

// tracked lets so many connections of users be open at the proxy. The kernel's own limit of tracked
// connections is one for all namespaces, and not ours to change.
func tracked(n int) part {
	return injects(func(ctx context.Context, t *topology) error {
		return t.Host("proxy").
			Run(ctx, fmt.Sprintf(trackRules, n, netns.HostDevice, t.UsersAddr()), "nft", "-f", "-")
	})
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
func neighbor(cores []int, nice int) part {
	return injects(func(ctx context.Context, t *topology) error {
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
	})
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
