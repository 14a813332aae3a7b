package mattermost

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

// An integration is a bot's account.
type integration struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Token string `json:"token"`
}

// A bot is the program behind the bot's account: one in each process, connected while a person is
// there. It gets the events of its channels by its WebSocket, and answers the questions of the
// persons of its process, each as soon as its event is there. The zero value is ready for use.
type bot struct {
	mu    sync.Mutex
	users int
	self  *person // nil while it is not connected

	asking sync.Mutex        // its reader takes it, while leave waits for the reader with mu
	asked  map[string]string // answers that are wanted, by the questions' own identifiers
}

// enter connects the bot for the first of its persons; one whose connecting failed is tried again
// with the next.
func (h *bot) enter(a *act) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !a.withBot {
		a.withBot = true
		h.users++
	}
	if h.self != nil {
		return
	}
	self := &person{
		b: a.b, id: a.b.Bot.ID, bot: h, ledger: a.ledger, steady: a.steady, login: a.login,
		delivery: a.delivery, inbox: a.inbox, reg: a.reg, turn: make(chan struct{}, 1),
		knowledge: knowledge{current: -1},
		u:         workload.NewUser(a.u.ID, a.u.Rank, 0, a.u.Pace, a.u.Recorder(), a.u.Clock()),
	}
	self.pool = pool{budget: 16, cfg: a.pool.cfg, acting: true} // its answers may be many
	self.pool.cfg.Token = a.b.Bot.Token
	self.u.Schedule(self.u.Now())
	c := self.pool.force(self.u, self.login)
	sock, err := c.Connect(a) // which records it
	self.pool.give(c)
	if err != nil {
		return
	}
	life, stop := context.WithCancelCause(a)
	self.connection = connection{life: life, stop: func() { stop(errGone) }, sock: sock}
	self.wg.Go(func() {
		defer self.rescue("the bot's reader of events")
		self.listen(life, sock)
	})
	h.self = self
}

// leave disconnects the bot with the last of its persons.
func (h *bot) leave(a *person) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !a.withBot {
		return
	}
	a.withBot = false
	if h.users--; h.users == 0 && h.self != nil {
		h.self.leave()
		h.self.pool.close()
		h.self = nil
	}
}

func (h *bot) connected() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.self != nil && h.self.socket() != nil
}

// ask announces a question, to which the bot gives an answer, until the function that it returns is
// called.
func (h *bot) ask(pending, answer string) (done func()) {
	h.asking.Lock()
	defer h.asking.Unlock()
	if h.asked == nil {
		h.asked = map[string]string{}
	}
	h.asked[pending] = answer
	return func() { h.wanted(pending) }
}

// wanted takes the answer to a question; ok is false if it is none of this process, or has been
// answered.
func (h *bot) wanted(pending string) (answer string, ok bool) {
	h.asking.Lock()
	defer h.asking.Unlock()
	answer, ok = h.asked[pending]
	delete(h.asked, pending)
	return answer, ok
}

// answer replies to a post that a person of this process has addressed to the bot. The reply is
// intended at the post's arrival; replies do not wait for each other.
func (a *person) answer(ev *api.SocketEvent) {
	pending := string(ev.Pending)
	text, ok := a.bot.wanted(pending)
	if !ok {
		return
	}
	a.mu.Lock()
	life := a.life
	a.mu.Unlock()
	if life == nil {
		return
	}
	d := api.Draft{ChannelID: ev.Post.ChannelID.String(), RootID: ev.Post.ID.String(),
		Message: text + " " + pending}
	rec := a.u.Beside(a.u.Since(ev.At)).Followed()
	c := a.pool.force(rec, a.steady)
	a.wg.Go(func() {
		defer a.rescue("an answer of the bot")
		p, err := c.Post(life, d)
		if life.Err() == nil {
			record(a.ledger, &d, p, err, workload.Message{Author: nobody})
		}
		unfollow(life, rec)
		a.pool.give(c)
	})
}

// hasBot reports whether the bot is a member of a place.
func (b *Person) hasBot(p place) bool { return slices.Contains(b.Channels, p.ch.key) }

// integrate finds or makes the webhook and the bot, if the mix uses them. In a verification an error
// is that of the action only.
func (s *setup) integrate(b *Person) error {
	b.Webhook = ""
	for name, provide := range map[string]func(*Person) error{
		"post_webhook": s.provideWebhook, "ask_bot": s.provideBot,
	} {
		if !b.mix.has(name) {
			continue
		}
		err := provide(b)
		switch {
		case err == nil:
		case b.unmade != nil && s.Err() == nil:
			b.unmade[name] = err
		default:
			return fmt.Errorf("webhook and bot: %w", err)
		}
	}
	return nil
}

// provideWebhook finds or makes the incoming webhook of a run's team.
func (s *setup) provideWebhook(b *Person) error {
	name := s.set.team + "-hook"
	return s.with(func(c *api.Client) error {
		for page := 0; ; page++ {
			list, err := c.Webhooks(s, b.Team, page, pageSize)
			if err != nil {
				return err
			}
			for _, h := range list {
				if h.Name == name {
					b.Webhook = h.ID
					return nil
				}
			}
			if len(list) < pageSize {
				break
			}
		}
		h, err := c.CreateWebhook(s, b.Channels[0], name)
		b.Webhook = h.ID
		return err
	})
}

func (s *setup) provideBot(b *Person) (err error) {
	token := secret(s.env, "bot_token")
	if token == "" {
		have := false
		if b.Bot.Token != "" {
			if have, err = s.valid(b.Bot.Token); err != nil {
				return err
			}
		}
		if token = b.Bot.Token; !have {
			if _, token, err = s.bot(); err != nil {
				return err
			}
		}
	}
	p, err := s.who(token)
	if err != nil {
		return err
	}
	b.Bot = integration{ID: p.ID, Name: p.Username, Token: token}
	all := make([]int, len(b.Channels))
	for i := range all {
		all[i] = i
	}
	return s.join(b.Team, []string{p.ID}, b.Channels, func(int) []int { return all })
}
