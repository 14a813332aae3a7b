package mattermost

import (
	"bytes"
	"context"
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

// integrationActions set off what programs do on a server: webhooks, slash commands and bots. No mix
// has them; workload.weights gives them a weight.
var integrationActions = []action{
	{"post_webhook", 0, hasWebhooks, postWebhook, provePostWebhook, "", 0},
	{"run_command", 0, hasCommands, runCommand, proveRunCommand, "", 0},
	{"ask_bot", 0, hasBots, askBot, proveAskBot, "", 0},
}

// The reasons.
const (
	errNoWebhook skipError = "there is no webhook: the weights had none when the server was prepared"
	errNoBot     skipError = "the bot's WebSocket is down"
)

// An awaited is a post that the person waits for: its event has the mark in it.
type awaited struct {
	mark   []byte // without a character that JSON escapes
	author api.ID // of the post; none: anybody
	came   chan api.Echo
}

// expect has the person's reader look for an event, until forget.
func (a *person) expect(mark string, author api.ID) *awaited {
	w := &awaited{[]byte(mark), author, make(chan api.Echo, 1)}
	a.awaits.Store(w)
	return w
}

func (a *person) forget() { a.awaits.Store(nil) }

// match hands an event over if it is the one.
func (w *awaited) match(data []byte, ev *api.SocketEvent) {
	if w == nil || !w.author.None() && w.author != ev.Post.UserID ||
		!bytes.Contains(data, w.mark) {
		return
	}
	select {
	case w.came <- api.Echo{ID: ev.Post.ID, At: ev.At}:
	default: // it came again
	}
}

// await waits for the event of a request that was sent at that moment, and records the operation of
// a name. The person goes on when it has come.
func (a *act) await(name string, sent time.Time, w *awaited,
) (api.Echo, error) {
	rec := a.u.Beside(a.u.Since(sent)).Followed()
	got, err := a.c.Await(a, rec, name, sent, w.came)
	if a.Err() == nil {
		rec.Close()
		a.u.Rejoin(rec.Intended())
	}
	return got, err
}

// posted waits for the event of a post that an answer does not name, and writes it to the ledger.
func (a *act) posted(name string, m workload.Message, w *awaited,
) error {
	got, err := a.await(name, m.Sent, w)
	if a.Err() != nil {
		return err
	}
	if err == nil {
		m.ID = got.ID.String()
	}
	a.ledger.Acked(m) // without an ID it counts as accepted, and that is all
	return err
}

// goTo makes one of the places that keep accepts the current one, unless it is.
func (a *act) goTo(keep func(place) bool) error {
	if a.socket() == nil {
		return errNoSocket // no event would come
	}
	if a.current >= 0 && keep(a.places[a.current]) {
		return nil
	}
	k, ok := a.otherPlace(keep)
	if !ok {
		return errNoChannel
	}
	return a.enter(k)
}

// postWebhook is a program that posts by a webhook into an open channel that the person looks at.
func postWebhook(a *act) error {
	text := a.compose(rootWords).plain()
	if a.b.Webhook == "" {
		return errNoWebhook
	}
	team := api.ParseID(a.b.Team)
	if err := a.goTo(func(p place) bool {
		return p.ch.kind == 'O' && p.ch.team == team
	}); err != nil {
		return err
	}
	ch := a.channel()
	mark := a.pendingID()
	w := a.expect(mark, api.ID{})
	defer a.forget()
	sent, acked, err := a.c.FireWebhook(a, a.b.Webhook, ch.name, text, mark)
	if err != nil {
		return err
	}
	return a.posted(api.WebhookPost,
		workload.Message{Channel: ch.key, Author: nobody, Sent: sent, Acked: acked}, w)
}

// nobody is the author of a message that none of the users wrote: all of them are its recipients.
const nobody = -1

// provePostWebhook shows the witness's other device the event of a post by the webhook, and another
// client the post.
func provePostWebhook(s *stage) {
	s.connected()
	sock := must(s.witness.c.Connect(s))
	defer sock.Close()
	defer sock.Release()
	s.act()
	ch := s.actor.channel()
	post := s.newest(ch)
	disproved(post.UserID.String() == s.actor.id, "the post is the person's own")
	wait, cancel := context.WithTimeout(s, 10*time.Second)
	defer cancel()
	for {
		ev, err := sock.Next(wait)
		disproved(err != nil, "no event of it reaches another member: %w", err)
		if ev.Kind == api.EventPosted && ev.Post.ID == post.ID {
			return
		}
	}
}

// connected makes sure that events reach the actor, whose WebSocket may have ended with an earlier
// proof, in a channel that the witness is in.
func (s *stage) connected() {
	a := s.actor
	a.mu.Lock()
	over := a.life == nil || a.life.Err() != nil
	a.mu.Unlock()
	if over {
		check(s.again(a))
	}
	check(s.gather())
}

// newest returns the newest post of a channel, as the witness sees it.
func (s *stage) newest(ch *channel) api.Seen {
	posts := s.latest(ch.key, pageOf)
	disproved(len(posts) == 0, "another client finds no post")
	return posts[0]
}

// runCommand posts by a slash command in the current channel: /me half of the time, else /shrug.
func runCommand(a *act) error {
	text := a.compose(replyWords).plain()
	command := "/me "
	if a.choice.IntN(2) == 0 {
		command = "/shrug "
	}
	if err := a.goTo(func(p place) bool { return a.inTeam(p) || isDirect(p) }); err != nil {
		return err
	}
	ch := a.channel()
	mark := a.pendingID()
	w := a.expect(mark, api.ParseID(a.id))
	defer a.forget()
	sent, acked, err := a.c.RunCommand(a, a.team, ch.key, command+text+" "+mark)
	if err != nil {
		return err
	}
	return a.posted(api.CommandPost, workload.Message{Channel: ch.key, Author: a.u.ID,
		Reader: a.reader(ch), Sent: sent, Acked: acked}, w)
}

// proveRunCommand shows the witness a new post of the actor, which is not the command itself.
func proveRunCommand(s *stage) {
	s.connected()
	ch := s.emptyChannel()
	s.act()
	post := s.newest(ch)
	disproved(post.UserID.String() != s.actor.id, "another client finds no new post of the person")
	text := must(s.witness.c.PostText(s, post.ID.String()))
	disproved(text == "" || text[0] == '/', "the post is the command")
}

// askBot mentions the bot in one of its channels and waits for its answer.
func askBot(a *act) error {
	c := a.compose(replyWords)
	c.mention = a.b.Bot.Name
	c.files = nil
	answer := fewWords(a.content, replyWords)
	if !a.b.bot.connected() {
		return errNoBot
	}
	if err := a.goTo(a.b.hasBot); err != nil {
		return err
	}
	ch := a.channel()
	d, err := a.write(ch, api.ID{}, c)
	if err != nil {
		return err
	}
	d.Pending = a.pendingID()
	w := a.expect(d.Pending, api.ParseID(a.b.Bot.ID))
	defer a.forget()
	defer a.b.bot.ask(d.Pending, answer)()
	p, err := a.send(ch, d)
	if err != nil {
		return err
	}
	_, err = a.await(api.BotAnswer, p.Sent, w)
	return err
}

// proveAskBot shows the witness the bot's answer, in the thread of a question of the actor's that
// mentions it.
func proveAskBot(s *stage) {
	s.connected()
	s.act()
	posts := s.latest(s.actor.here(), pageOf)
	disproved(len(posts) < 2 || posts[0].UserID.String() != s.b.Bot.ID,
		"another client finds no answer of the bot")
	root := posts[0].RootID
	thread := must(s.witness.c.Thread(s, root.String()))
	for _, p := range thread {
		if p.ID == root {
			disproved(p.UserID.String() != s.actor.id || p.Mention != s.b.Bot.Name,
				"the answer is not to the person's question")
			return
		}
	}
	disproved(true, "the answer is in no thread")
}
