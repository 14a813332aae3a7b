package newsfeed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
)

// stored counts the rows of the service's stores, as GET /rows reports them.
type stored struct {
	Stores  map[string]map[string]int64
	Untold  map[string]string
	Repeats bool
	Again   int64 // telemetry records that may be on the bus more than once
}

var errNoRows = errors.New("the service does not tell its rows")

// stored requests the counts of the stores. errNoRows is the answer of a service that has no such
// page.
func (c *client) stored(ctx context.Context) (s stored, err error) {
	resp, err := c.Do(ctx, workload.Setup+"_rows", &wire.Request{Path: "/rows"}, func(b []byte) error {
		if json.Unmarshal(b, &s) != nil || s.Stores == nil {
			return errNoRows
		}
		return nil
	})
	if err != nil && 200 < resp.Status && resp.Status < 500 {
		err = fmt.Errorf("%w: status %d", errNoRows, resp.Status)
	}
	if err != nil {
		return stored{}, fmt.Errorf("asking for the rows: %w", err)
	}
	return s, nil
}

// Before counts the rows of the stores before a run: the audit counts those beyond them. A service
// without counts is not checked; one that fails to report them is, and fails the check.
func (b *Feed) Before(ctx context.Context, env workload.Env) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.before, b.unread = nil, nil
	env.Clock = nil
	c, err := b.aside(env, b.set)
	if err != nil {
		b.unread = err
		return
	}
	defer c.Close()
	for end := time.Now().Add(drainTime); ; rest(ctx, drainRest/2) {
		// Until the telemetry of earlier requests has come, too.
		s, err := c.stored(ctx)
		switch {
		case errors.Is(err, errNoRows):
			return
		case err != nil:
			b.unread = err
		default:
			same := b.before != nil &&
				s.Stores["bus"]["records"] == b.before.Stores["bus"]["records"]
			if b.before, b.unread = &s, nil; len(s.Untold) == 0 && (same || len(s.Stores) == 0) {
				return
			}
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return
		}
	}
}

// rest waits until ctx ends at most.
func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

const (
	drainTime = 5 * time.Second        // for telemetry, which is sent behind the requests
	drainRest = 100 * time.Millisecond // between two looks
	// A cut-off user may have reached this many friends, or friendships, of one story.
	mostFans = people - 1
)

// counted compares the rows of the stores with the acknowledged ones; nil if the service has no
// page that reports them.
func (b *Feed) counted(
	ctx context.Context,
	env *workload.Env,
	c *client,
	acked []workload.AckedMessages,
) []workload.RowCount {
	b.mu.Lock()
	before, unread := b.before, b.unread
	b.mu.Unlock()
	if unread != nil {
		return []workload.RowCount{{
			Store:   "every store",
			What:    "rows before the run",
			Unknown: true,
			Why:     unread.Error(),
		}}
	}
	if before == nil {
		return nil
	}
	want := expected(env.Tally.Snapshot(), acked, before.Repeats)
	var now stored
	var err error
	by := cmp.Or(env.Clock, clock.New(time.Now()))
	for end := by.Now() + drainTime; ; {
		now, err = c.stored(ctx)
		records := now.Stores["bus"]["records"] - before.Stores["bus"]["records"]
		if err != nil || now.Stores["bus"] == nil || records >= want["bus records"][0] ||
			by.Now() > end ||
			ctx.Err() != nil {
			break
		}
		rest(ctx, drainRest)
	}
	var out []workload.RowCount
	for _, role := range slices.Sorted(maps.Keys(before.Stores)) {
		for _, what := range slices.Sorted(maps.Keys(before.Stores[role])) {
			limits, ok := want[role+" "+what]
			if !ok {
				continue // nothing of ours
			}
			if role == "bus" {
				limits[1] += now.Again - before.Again
			}
			n, told := now.Stores[role][what]
			r := workload.RowCount{
				Store:   role,
				What:    what,
				Least:   limits[0],
				Most:    limits[1],
				Actual:  n - before.Stores[role][what],
				Unknown: err != nil || !told,
			}
			if r.Unknown {
				r.Actual, r.Why = 0, now.Untold[role]
				if err != nil {
					r.Why = err.Error()
				}
			}
			out = append(out, r)
		}
	}
	for _, role := range slices.Sorted(maps.Keys(before.Untold)) {
		out = append(out, workload.RowCount{
			Store:   role,
			What:    "rows before the run",
			Unknown: true,
			Why:     before.Untold[role],
		})
	}
	return out
}

// expected returns by store and kind the least and the most that may be there. An acknowledged
// request has made its rows; one that failed, or was under way at the end, may have. Whether a
// story reaches a friend once per friendship is a setting of the service.
func expected(
	did workload.Snapshot,
	acked []workload.AckedMessages,
	repeats bool,
) map[string][2]int64 {
	ok, tried := map[string]int64{}, map[string]int64{}
	all := [2]int64{}
	for _, b := range did {
		for _, a := range b.Actions {
			ok[a.Name] += a.OK
			tried[a.Name] += a.Attempts
			all[0], all[1] = all[0]+a.OK, all[1]+a.Attempts
		}
	}
	stories, inbound := int64(0), int64(0)
	for _, m := range acked {
		friends := strings.Fields(m.Channel)[1:]
		if !repeats {
			friends = slices.Compact(friends) // they are sorted
		}
		stories += int64(len(m.IDs))
		inbound += int64(len(m.IDs) * len(friends))
	}
	story, open := opNames[opStory], tried[opNames[opStory]]-ok[opNames[opStory]]
	in := [2]int64{inbound, inbound + mostFans*open}
	if stories < ok[story] { // a sample: only the limits of a batch are known
		in = [2]int64{inbound, mostFans * tried[story]}
	}
	of := func(o op) [2]int64 { return [2]int64{ok[opNames[o]], tried[opNames[o]]} }
	return map[string][2]int64{
		"database participants": of(opParticipant),
		"database friendships":  of(opBefriend),
		"wide outbound":         of(opStory),
		"wide inbound":          in,
		"search documents":      of(opStory),
		"bus records":           all,
	}
}

// Served returns the operation that a service's entity and operation are, as its telemetry names
// them.
func Served(entity, operation string) (name string, ok bool) {
	o, ok := served[[2]string{entity, operation}]
	if !ok {
		return "", false
	}
	return opNames[o], true
}

var served = map[[2]string]op{
	{"participant", "post"}: opParticipant,
	{"friends", "post"}:     opBefriend,
	{"outbound", "post"}:    opStory,
	{"outbound", "search"}:  opSearch,
}
