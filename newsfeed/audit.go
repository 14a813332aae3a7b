package newsfeed

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/load/workload"
)

// channel names where i's stories belong, for the ledger: the sender, then the friend of each
// friendship, those of one friend beside each other.
func (a *poster) channel(i int) string {
	friends := a.batch.friends(i)
	slices.Sort(friends)
	b := strconv.AppendInt(nil, a.ids[i], 10)
	for _, j := range friends {
		b = strconv.AppendInt(append(b, ' '), a.ids[j], 10)
	}
	return string(b)
}

// Audit implements workload.Auditor: it counts the rows of the stores, then reads the outbound of
// every sender and the inbounds of its friends.
func (b *Feed) Audit(
	ctx context.Context,
	env workload.Env,
	acked []workload.AckedMessages,
) (r workload.AuditResult, err error) {
	r.Part = 1
	for _, m := range acked {
		r.Expected += len(m.IDs)
	}
	c, err := b.aside(env, b.set)
	if err != nil {
		return r, err
	}
	defer c.Close()
	r.Rows = b.counted(ctx, &env, c, acked)
	for _, m := range acked {
		there, err := c.everywhere(ctx, m.Channel)
		if ctx.Err() != nil {
			r.Note = "the time was over before all were read"
			return r, nil
		}
		if err != nil {
			return r, fmt.Errorf("reading the stories of participants %s: %w", m.Channel, err)
		}
		for _, id := range m.IDs {
			if there[id] {
				r.Readable++
			} else {
				r.Miss(id)
			}
		}
	}
	return r, nil
}

// everywhere returns the subjects of the stories that a sender and all its friends have.
func (c *client) everywhere(ctx context.Context, channel string) (map[string]bool, error) {
	count := map[string]int{}
	people := slices.Compact(strings.Fields(channel)) // a sender is not a friend of itself
	for i, p := range people {
		id, err := strconv.ParseInt(p, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("participant %q: %w", p, err)
		}
		o := opInbound
		if i == 0 {
			o = opOutbound
		}
		list, err := workload.Again(ctx, func(error) bool {
			return false
		}, func() ([]string, error) {
			return c.subjects(ctx, o, id)
		})
		if err != nil {
			return nil, err
		}
		slices.Sort(list)
		for _, s := range slices.Compact(list) {
			count[s]++
		}
	}
	there := map[string]bool{}
	for s, n := range count {
		there[s] = n == len(people)
	}
	return there, nil
}
