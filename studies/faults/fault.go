package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"plimsoll/studies/study"
	"plimsoll/target/lab"
	"plimsoll/target/lab/cgroup"
	"plimsoll/target/lab/netns"
)

// A fault is one thing that limits the topology on purpose.
type fault struct {
	name  string
	what  string   // the limited resource and the method, for the table
	right []string // names of the limiter that are right, the first of them the best
	extra bool     // not in the score: only by name
	// of the held-out suite: one of the constants kindSingle, kindPair and kindOutside
	kind string
	// start and most are the search's first and largest number of users.
	start, most int
	posters     string // share of users that only post; the others have a WebSocket
	// change changes the layout to build; nil changes nothing.
	change func(*layout)
	// inject is done when everything runs and before the users come; nil does nothing.
	inject func(context.Context, *topology) error
	// late is the part of the fault that waits until accounts and channels are made, because making
	// them would take too long with it.
	late func(context.Context, *topology) error
	took reader // at the end
}

// A reader reads a counter that shows a fault; an error where it was not there.
type reader func(context.Context, *topology) (string, error)

// A part of a fault is one of its functions, or a mark.
type part func(*fault)

// changes sets the fault's function that changes the layout.
func changes(change func(*layout)) part { return func(f *fault) { f.change = change } }

// injects sets the function that is called when everything runs.
func injects(inject func(context.Context, *topology) error) part {
	return func(f *fault) { f.inject = inject }
}

// extra is of faults that are not in the score.
func extra(f *fault) { f.extra = true }

// limits makes a fault. Its right names have "or" between them.
func limits(name, what, right string, start, most int, took reader, parts ...part) fault {
	f := fault{name: name, what: what, right: strings.Split(right, " or "), start: start, most: most,
		took: took}
	for _, p := range parts {
		p(&f)
	}
	return f
}

// faults are all of them, in the order of the table.
func faults() []fault {
	waits := func(fault string) reader {
		return metric(fmt.Sprintf("refchat_fault_wait_seconds_total{fault=%q}", fault), 5)
	}
	control := func(context.Context, *topology) (string, error) { return "control", nil }
	return []fault{
		limits("none", "nothing; requests cost the instances two and a half times their CPU, so that "+
			"it is theirs which fills the core", "cpu app", 30, 300, control, args(heavy)),
		limits("app-quota", "both instances may use 30 ms of each 100 ms of the core (control group); "+
			"requests cost as above",
			"cpu-quota app", 16, 200, throttled("app"), args(heavy), quota("app", 0.30)),
		limits("db-cpu", "a trigger of the table of posts burns some ms of the database's CPU time per post",
			"cpu db", 25, 300, triggered, injects(trigger)),
		limits("db-quota", "the database may use 15 ms of each 100 ms of the core (control group)",
			"cpu-quota db", 15, 300, throttled("db"), extra, quota("db", 0.15)),
		limits("db-pool", "two database connections per instance, and a database 4 ms away",
			"db-pool app", 20, 240, metric("go_sql_wait_count_total", 1000),
			args("-fault=pool:2", "-fault=slow-query:4ms")),
		limits("app-lock", "each request holds one mutex of its instance for 20 ms, asleep",
			"app-locks app", 20, 240, waits("lock"), args("-fault=lock:20ms")),
		limits("disk", "the database's disk takes 100 writes per second (control group), each waited for",
			"disk db", 16, 240, writes,
			changes(func(l *layout) {
				l.dbWith["synchronous_commit"], l.dbWith["wal_sync_method"] = "on", "open_datasync"
			}),
			func(f *fault) {
				f.late = func(_ context.Context, t *topology) error {
					return t.group("db", func(g *cgroup.Group) error { return g.Writes(t.dir, 100) })
				}
			}),
		limits("hot-row", "every post's transaction updates one row and keeps it for 10 ms",
			"db-locks db", 20, 240, waits("hot-row"), args("-fault=hot-row:10ms")),
		limits("loss", "the proxy takes 200 packets per second and sender, and 20 at once, and loses the "+
			"others, as a ring that is too small does (nft); requests cost as above",
			"network-loss proxy", 15, 200, dropped("netdev", 20), args(heavy), bursts(200, 20)),
		limits("steady-loss", "the proxy loses 4 % of the packets that reach it, and 4 % of those that it "+
			"sends, at any load (nft)",
			"network-loss proxy", 20, 300, dropped("netdev", 20), extra, loss(4)),
		limits("backlog", "one connection may wait to be accepted by an instance (net.core.somaxconn), and "+
			"the proxy keeps none open", "accept-backlog app", 40, 500, overflowed,
			changes(func(l *layout) { l.keep, l.settings["net.core.somaxconn"] = 0, "0" })),
		limits("fds", "an instance may have 64 files open (prlimit), of them 10 for the database",
			"fd-limit app", 40, 300, exhausted, args("-max-conns=10"), fewFiles(64),
			func(f *fault) { f.posters = "50%" }),
		limits("gc", "the heap of an instance may have 10 MiB (GOMEMLIMIT)",
			"gc app", 15, 160, metric("go_gc_duration_seconds_count", 1000),
			changes(func(l *layout) { l.appEnv = append(l.appEnv, "GOMEMLIMIT=10MiB") })),
		limits("generator", "six other programs want the generator's core",
			"generator", 60, 600, hogged, hogs(6)),
		limits("fan-out", "bringing a message's event to its connections takes the hub 10 ms, asleep",
			"fan-out app", 20, 240, waits("hub"), args("-fault=hub:10ms")),
		limits("proxy-slots", "the proxy's worker may have 250 connections open (worker_connections)",
			"proxy-connections proxy", 60, 600, slots, extra,
			changes(func(l *layout) { l.slots = 250 })),
	}
}

// heavy makes the instances the largest consumer of CPU, as a real server is.
const heavy = "-fault=cpu:150%"

// args adds arguments to both instances.
func args(a ...string) part {
	return changes(func(l *layout) { l.appArgs = append(l.appArgs, a...) })
}

// quota limits a role's CPU time.
func quota(role string, cores float64) part {
	return injects(func(_ context.Context, t *topology) error {
		return t.group(role, func(g *cgroup.Group) error {
			return g.CPU(cores, 100*time.Millisecond)
		})
	})
}

// throttled reads how often a role's group was stopped.
func throttled(role string) reader {
	return func(_ context.Context, t *topology) (string, error) {
		for _, dir := range t.groups[role].Dirs() {
			b, err := os.ReadFile(filepath.Join(dir, "cpu.stat"))
			if err != nil {
				continue
			}
			n := field(string(b), "nr_throttled")
			if n < 1 {
				return "", fmt.Errorf("the group of %s was never throttled", role)
			}
			return fmt.Sprintf("throttled %.0f times", n), nil
		}
		return "", errors.New("the group has no statistics")
	}
}

// field finds the number behind a word at the beginning of a line.
func field(text, word string) float64 {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) >= 2 && f[0] == word {
			n, _ := strconv.ParseFloat(f[1], 64)
			return n
		}
	}
	return 0
}

const triggerSQL = `
CREATE FUNCTION burn() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE n bigint := 0;
BEGIN
  FOR i IN 1..60000 LOOP n := n + i; END LOOP;
  RETURN NEW;
END $$;
CREATE TRIGGER burn BEFORE INSERT ON posts FOR EACH ROW EXECUTE FUNCTION burn();
`

func trigger(ctx context.Context, t *topology) error {
	_, err := t.sql(ctx, triggerSQL)
	return err
}

func triggered(ctx context.Context, t *topology) (string, error) {
	out, err := t.sql(ctx, "SELECT count(*) FROM pg_trigger WHERE tgname = 'burn'")
	if err != nil {
		return "", err
	}
	if out != "1" {
		return "", fmt.Errorf("the trigger is not there: %q", out)
	}
	return "trigger present", nil
}

// sql runs statements in the database and returns the first column of the last row.
func (t *topology) sql(ctx context.Context, text string) (string, error) {
	dsn, err := t.DSN(t.WatchAddr("db"))
	if err != nil {
		return "", err
	}
	conf, err := pgx.ParseConfig(dsn)
	if err != nil {
		return "", errors.New("the database's address cannot be parsed")
	}
	conf.DialFunc = t.Side.Dial
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return "", errors.New("the database cannot be reached")
	}
	defer func() { _ = conn.Close(ctx) }()
	results, err := conn.PgConn().Exec(ctx, text).ReadAll()
	if err != nil {
		return "", err
	}
	if last := results[len(results)-1].Rows; len(last) > 0 {
		return string(last[len(last)-1][0]), nil
	}
	return "", nil
}

// metric sums a metric of both instances and requires it to have reached at least a number.
func metric(name string, least float64) reader {
	return func(ctx context.Context, t *topology) (string, error) {
		sum, err := t.read(ctx, name)
		if err != nil {
			return "", err
		}
		if sum < least {
			return "", fmt.Errorf("%s is %.4g, want at least %.4g", name, sum, least)
		}
		return fmt.Sprintf("%s %.4g", name, sum), nil
	}
}

// read sums a metric over both instances.
func (t *topology) read(ctx context.Context, name string) (float64, error) {
	sum := 0.0
	for _, page := range t.metrics() {
		text, err := t.get(ctx, page)
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			if len(f) == 2 && (f[0] == name || strings.HasPrefix(f[0], name+"{")) {
				n, err := strconv.ParseFloat(f[1], 64)
				if err != nil {
					return 0, fmt.Errorf("metric %s: %w", name, err)
				}
				sum += n
			}
		}
	}
	return sum, nil
}

// get fetches a page from the generator's side.
func (t *topology) get(ctx context.Context, page string) (string, error) {
	transport := &http.Transport{DialContext: t.Side.Dial, DisableKeepAlives: true}
	b, err := study.Fetch(ctx, &http.Client{Transport: transport}, page)
	return string(b), err
}

// writes reads how much the database wrote below its limit.
func writes(_ context.Context, t *topology) (string, error) {
	for _, dir := range t.groups["db"].Dirs() {
		b, err := os.ReadFile(filepath.Join(dir, "blkio.throttle.io_serviced"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) == 3 && f[1] == "Write" {
				if n, _ := strconv.Atoi(f[2]); n >= 100 {
					return fmt.Sprintf("%d writes through the throttle", n), nil
				}
			}
		}
	}
	return "", errors.New("the throttle counted no writes")
}

// lossRules drops packets at the proxy's device: those that come before the stack has them, and
// those that it sends.
const lossRules = `table netdev faults {
  chain in { type filter hook ingress device "%[2]s" priority 0; numgen random mod 1000 < %[1]d counter drop; }
  chain out { type filter hook egress device "%[2]s" priority 0; numgen random mod 1000 < %[1]d counter drop; }
}
`

// loss drops a percentage of the packets on the proxy's link, in each direction.
func loss(percent float64) part {
	return injects(func(ctx context.Context, t *topology) error {
		return t.Host("proxy").
			Run(ctx, fmt.Sprintf(lossRules, int(percent*10), netns.HostDevice), "nft", "-f", "-")
	})
}

// burstRules has a limit of its own for each of two senders.
const burstRules = `table netdev faults {
  chain in {
    type filter hook ingress device "%[3]s" priority 0;
    ip saddr %[4]s limit rate over %[1]d/second burst %[2]d packets counter drop;
    ip saddr %[5]s limit rate over %[1]d/second burst %[2]d packets counter drop;
  }
}
`

// bursts drops packets to the proxy beyond a rate and a burst, by sender.
func bursts(rate, burst int) part {
	return injects(func(ctx context.Context, t *topology) error {
		rules := fmt.Sprintf(
			burstRules,
			rate,
			burst,
			netns.HostDevice,
			t.Addr("app"),
			t.UsersAddr(),
		)
		return t.Host("proxy").Run(ctx, rules, "nft", "-f", "-")
	})
}

// dropped reads the counters of the rules in a family of tables at the proxy.
func dropped(family string, least int) reader {
	return func(ctx context.Context, t *topology) (string, error) {
		out, err := t.Host("proxy").Output(ctx, "nft", "list", "table", family, "faults")
		if err != nil {
			return "", err
		}
		n := packets(out)
		return fmt.Sprintf("%d packets dropped", n), atLeast("packets dropped", n, least)
	}
}

// netstat reads a counter of TcpExt in a role's network namespace.
func (t *topology) netstat(role, name string) (int, error) {
	pids := t.pids(role)
	if len(pids) == 0 {
		return 0, fmt.Errorf("no process of role %s", role)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/netstat", pids[0]))
	if err != nil {
		return 0, err
	}
	var names []string
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "TcpExt:" {
			continue
		}
		if names == nil {
			names = f
			continue
		}
		for i, n := range names {
			if n == name && i < len(f) {
				return strconv.Atoi(f[i])
			}
		}
	}
	return 0, fmt.Errorf("the kernel has no counter %s", name)
}

func overflowed(_ context.Context, t *topology) (string, error) {
	n, err := t.netstat("app", "ListenOverflows")
	if err == nil && n < 10 {
		err = fmt.Errorf("only %d overflows of the accept queue", n)
	}
	return fmt.Sprintf("ListenOverflows %d", n), err
}

// fewFiles limits the open files of both instances.
func fewFiles(n uint64) part {
	return injects(func(_ context.Context, t *topology) error {
		for _, pid := range t.pids("app") {
			if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{
				Cur: n,
				Max: n,
			}, nil); err != nil {
				return fmt.Errorf("limiting open files: %w", err)
			}
		}
		return nil
	})
}

// exhausted looks for the log line of an instance that may open no more files.
func exhausted(_ context.Context, t *topology) (string, error) {
	n := 0
	for _, p := range t.apps {
		n += strings.Count(p.Tail(), "too many open files")
	}
	if n == 0 {
		return "", errors.New("no instance was ever out of files")
	}
	return "an instance logged: too many open files", nil
}

// hogs starts programs that compute on the generator's core.
func hogs(n int) part {
	return injects(func(ctx context.Context, t *topology) error {
		for range n {
			p, err := lab.Start(ctx, lab.Spec{
				Name: "hog",
				Path: "/bin/sh",
				Args: []string{"-c", "while :; do :; done"},
				CPUs: generatorCore,
			})
			if err != nil {
				return err
			}
			t.others = append(t.others, p)
		}
		return nil
	})
}

func hogged(_ context.Context, t *topology) (string, error) {
	for _, p := range t.others {
		select {
		case <-p.Done():
			return "", errors.New("a hog ended early")
		default:
		}
	}
	return fmt.Sprintf("%d hogs ran", len(t.others)), nil
}

func slots(ctx context.Context, t *topology) (string, error) {
	if n := strings.Count(t.proxy.Watched().Tail(), "worker_connections are not enough"); n > 0 {
		return "nginx: worker_connections are not enough", nil
	}
	return "", errors.New("nginx never said that its worker_connections are not enough")
}
