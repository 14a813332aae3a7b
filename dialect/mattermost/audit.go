package mattermost

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"plimsoll/workload"
)

const (
	auditPage    = 200  // posts
	mostExtra    = 20   // pages that are read beyond those that the messages would fill
	mostOneByOne = 1000 // messages of a channel that are asked for by themselves when they were not on the pages
)

// Audit implements workload.Auditor: as the administrator, it reads the channels from their newest post backwards until every message was
// seen, and asks for those that were not on these pages one by one.
func (b *Person) Audit(ctx context.Context, env workload.Env, acked []workload.AckedMessages) (workload.AuditResult, error) {
	return audit(ctx, env, b.set, acked)
}

// Audit implements workload.Auditor.
func (p *Poster) Audit(ctx context.Context, env workload.Env, acked []workload.AckedMessages) (workload.AuditResult, error) {
	return audit(ctx, env, p.set, acked)
}

func audit(ctx context.Context, env workload.Env, set settings, acked []workload.AckedMessages) (r workload.AuditResult, err error) {
	for _, m := range acked {
		r.Expected += len(m.IDs)
	}
	r.Part = 1
	if secret(&env, "admin_token") == "" && secret(&env, "admin_password") == "" { // a bot's posters need none
		r.Note = "nobody can: no administrator's secret is given"
		return r, nil
	}
	s := newSetup(ctx, &env, set)
	if _, err := workload.Again(ctx, missing, func() (struct{}, error) { return struct{}{}, s.asAdmin() }); err != nil {
		return r, err
	}
	var mu sync.Mutex
	err = s.parallel(len(acked), func(ctx context.Context, c *Client, i int) error {
		found, gone, err := readBack(ctx, c, acked[i])
		mu.Lock()
		defer mu.Unlock()
		r.Readable += found
		for _, id := range gone {
			r.Miss(id)
		}
		return err
	})
	if ctx.Err() != nil {
		r.Note = "the time was over before all were read"
		return r, nil
	}
	return r, err
}

// readBack reads the messages of one channel and returns how many are there, and which are not.
func readBack(ctx context.Context, c *Client, m workload.AckedMessages) (found int, gone []string, err error) {
	left := make(map[ID]bool, len(m.IDs))
	for _, id := range m.IDs {
		left[parseID(id)] = true
	}
	posts, err := workload.Again(ctx, missing, func() ([]Seen, error) { return c.Posts(ctx, m.Channel, auditPage) })
	for page := 0; len(left) > 0 && err == nil && len(posts) > 0 && page < len(m.IDs)/auditPage+mostExtra; page++ {
		for _, p := range posts {
			if left[p.ID] {
				delete(left, p.ID)
				found++
			}
		}
		if len(posts) < auditPage {
			break
		}
		before := posts[len(posts)-1].ID.String()
		posts, err = workload.Again(ctx, missing, func() ([]Seen, error) { return c.PostsBefore(ctx, m.Channel, before, auditPage) })
	}
	if err != nil {
		return found, nil, fmt.Errorf("reading channel %s: %w", m.Channel, err)
	}
	asked := 0
	for id := range left {
		if asked++; asked > mostOneByOne {
			break
		}
		switch _, err := workload.Again(ctx, missing, func() (string, error) { return c.PostText(ctx, id.String()) }); {
		case err == nil:
			found++
		case missing(err):
			gone = append(gone, id.String())
		default:
			if _, ok := errors.AsType[*OpError](err); !ok {
				return found, gone, err
			}
			return found, gone, fmt.Errorf("reading post %s: %w", id, err)
		}
	}
	return found, gone, nil
}
