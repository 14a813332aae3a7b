package mattermost

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

const (
	auditPage = 200 // posts
	mostExtra = 20  // pages read beyond those that the messages would fill
	// messages of a channel requested one by one when they were not on the pages.
	mostOneByOne = 1000
)

// Audit implements workload.Auditor: it reads the channels from their newest post backwards until
// every message was seen, and asks for those that were not on these pages one by one. Open channels
// are read as the administrator; others as a member, who is the author of some of their messages,
// and as the administrator only when no member's session can be had. Channels that none of them may
// read are not audited.
func (b *Person) Audit(
	ctx context.Context, env workload.Env, acked []workload.AckedMessages,
) (workload.AuditResult, error) {
	r := newReaders(&env, b.set)
	r.have = func(rank int) string { return b.session(rank, false) }
	if b.ofFile() {
		r.credentials = b.credentials
	}
	return audit(ctx, env, b.set, r, acked)
}

// Audit implements workload.Auditor. The readers are persons of another behavior, whose accounts it
// knows if they were made by prefix.
func (p *Poster) Audit(
	ctx context.Context, env workload.Env, acked []workload.AckedMessages,
) (workload.AuditResult, error) {
	r := newReaders(&env, p.set)
	if p.ofFile() {
		r.credentials = func(int) (login, password string) { return "", "" }
	}
	return audit(ctx, env, p.set, r, acked)
}

func audit(
	ctx context.Context,
	env workload.Env,
	set settings,
	members *readers,
	acked []workload.AckedMessages,
) (r workload.AuditResult, err error) {
	for _, m := range acked {
		r.Expected += len(m.IDs)
	}
	r.Part = 1
	if !hasAdmin(&env) { // a bot's posters need none
		r.Note = "nobody can: no administrator's secret is given"
		return r, nil
	}
	s := newSetup(ctx, &env, set)
	s.clock = env.Clock
	if _, err := workload.Again(ctx, final, func() (struct{}, error) {
		return struct{}{}, s.asAdmin()
	}); err != nil {
		return r, err
	}
	config, _ := asked(s, (*api.Client).ClientConfig) // one that fails says nothing
	if isNull(config) {
		return workload.AuditResult{Part: 1, Note: nullServer}, nil
	}
	var mu sync.Mutex
	err = s.parallel(len(acked), func(ctx context.Context, c *api.Client, i int) error {
		b := newBooks(acked[i])
		err := b.read(ctx, c, members, s.token)
		mu.Lock()
		defer mu.Unlock()
		r.Readable += b.found
		for _, id := range b.gone {
			r.Miss(id)
		}
		if refused(err) {
			if len(b.left) > 0 {
				r.Refuse(len(b.left), err.Error())
			}
			return nil
		}
		return err
	})
	if ctx.Err() != nil {
		r.Note = "the time was over before all were read"
		return r, nil
	}
	return r, err
}

// final reports whether a repetition would get the same answer.
func final(err error) bool { return missing(err) || refused(err) }

// books are the messages of one channel: found, gone and left.
type books struct {
	workload.AckedMessages
	left  map[api.ID]bool
	found int
	gone  []string
}

func newBooks(m workload.AckedMessages) *books {
	b := &books{AckedMessages: m, left: make(map[api.ID]bool, len(m.IDs))}
	for _, id := range m.IDs {
		b.left[api.ParseID(id)] = true
	}
	return b
}

// read reads the remaining messages as one member after the other, and as the administrator when
// none of them could. The client is the administrator's again afterwards. The error is the
// administrator's; its text has the first member's.
func (b *books) read(ctx context.Context, c *api.Client, members *readers, admin string) error {
	defer c.SetToken(admin)
	var first error
	for _, reader := range b.Readers {
		err := b.as(ctx, c, members, reader)
		if err == nil || ctx.Err() != nil {
			return err
		}
		first = cmp.Or(first, err)
	}
	c.SetToken(admin)
	err := b.pages(ctx, c)
	if err != nil && first != nil {
		//nolint:errorlint // whether it was refused is the administrator's error alone
		err = fmt.Errorf("%w, as a member: %v", err, first)
	}
	return err
}

// as reads the remaining messages as a member: with the session that there is or, when that has
// ended, with a new one.
func (b *books) as(
	ctx context.Context, c *api.Client, members *readers, reader string,
) (err error) {
	for _, anew := range []bool{false, true} {
		if err := members.session(ctx, c, reader, anew); err != nil {
			return err
		}
		err = b.pages(ctx, c)
		if !unauthorized(err) {
			break
		}
	}
	return err
}

// pages reads the channel and looks for the remaining messages.
func (b *books) pages(ctx context.Context, c *api.Client) error {
	posts, err := workload.Again(ctx, final, func() ([]api.Seen, error) {
		return c.Posts(ctx, b.Channel, auditPage)
	})
	for page := 0; len(b.left) > 0 && err == nil && len(posts) > 0 &&
		page < len(b.IDs)/auditPage+mostExtra; page++ {
		for _, p := range posts {
			if b.left[p.ID] {
				delete(b.left, p.ID)
				b.found++
			}
		}
		if len(posts) < auditPage {
			break
		}
		before := posts[len(posts)-1].ID.String()
		posts, err = workload.Again(ctx, final, func() ([]api.Seen, error) {
			return c.PostsBefore(ctx, b.Channel, before, auditPage)
		})
	}
	if err != nil {
		if refused(err) {
			return err // of many channels alike
		}
		return fmt.Errorf("reading channel %s: %w", b.Channel, err)
	}
	asked := 0
	for id := range b.left {
		if asked++; asked > mostOneByOne {
			break
		}
		switch _, err := workload.Again(ctx, final, func() (string, error) {
			return c.PostText(ctx, id.String())
		}); {
		case err == nil:
			b.found++
			delete(b.left, id)
		case missing(err):
			b.gone = append(b.gone, id.String())
			delete(b.left, id)
		case refused(err):
			return err
		default:
			if !answered(err) {
				return err
			}
			return fmt.Errorf("reading post %s: %w", id, err)
		}
	}
	return nil
}
