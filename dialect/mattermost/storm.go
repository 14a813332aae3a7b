package mattermost

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

// storms are the kinds that persons know.
var storms = map[string]func(a *act, s workload.Storm) error{
	"login":     stormLogin,
	"reconnect": stormReconnect,
	"mention":   stormMention,
	"join":      stormJoin,
}

// StormKinds implements workload.StormKinds:
//
//	login      everyone comes in the morning: a new session by password, the WebSocket, and all that a client loads at its start
//	reconnect  a network or a proxy drops WebSockets: they are taken up where they were, and possibly missed events are requested
//	mention    someone writes to @all in the team's largest channel; param posts sets how often (default 1)
//	join       everyone joins one new channel and reads it
func (b *Person) StormKinds() []string { return slices.Sorted(maps.Keys(storms)) }

// Storm implements workload.Stormer. Its chance is a function of the user's and of the storm's
// place in the plan, and takes nothing from the user's own streams.
func (a *person) Storm(ctx context.Context, s workload.Storm) error {
	on := &act{ctx, a}
	do := storms[s.Kind]
	if do == nil {
		return fmt.Errorf("mattermost: there is no storm %q", s.Kind)
	}
	a.renew(a.start[0]+1+uint64(s.Index), a.start[1])
	defer a.begin(a.b.notes.table(a.reg, workload.StormPrefix+s.Kind))()
	a.takeIn()
	failed := do(on, s)
	err := on.settle(failed)
	if err == nil {
		a.isGone() // a login that failed is tried again at the next action
		if failed != nil {
			return workload.ErrNotBack
		}
	}
	return err
}

func stormLogin(a *act, _ workload.Storm) error {
	a.leave()
	return a.comeAnew()
}

func stormReconnect(a *act, _ workload.Storm) error {
	if a.socket() == nil {
		return errNoSocket
	}
	return reconnectWebSocket(a)
}

// CheckStorm reports a problem with the settings of a kind of storm: the key, and the problem with
// it; "" when all are good.
func CheckStorm(kind string, params map[string]string) (key, problem string) {
	for _, key := range slices.Sorted(maps.Keys(params)) {
		switch {
		case kind != "mention":
			return key, "is unknown; a storm of the kind " + kind + " has no settings"
		case key != "posts":
			return key, "is unknown; there is posts"
		}
		if n, err := strconv.Atoi(params[key]); err != nil || n < 1 {
			return key, strconv.Quote(params[key]) + ": want a whole number from 1"
		}
	}
	return "", ""
}

func stormMention(a *act, s workload.Storm) error {
	posts, err := strconv.Atoi(cmp.Or(s.Params["posts"], "1"))
	if err != nil || posts < 1 {
		return fmt.Errorf("mattermost: storm mention: posts is %q, want a whole number from 1",
			s.Params["posts"])
	}
	for k, p := range a.places {
		if a.inTeam(p) && p.ch.members.Load() == 0 {
			members, err := a.c.ChannelStats(a, p.ch.key, false)
			if err != nil {
				return err
			}
			a.places[k].ch.members.Store(int32(members))
		}
	}
	k, _ := a.largest()
	if k < 0 {
		return errNoChannel
	}
	for range posts {
		if err := a.post(a.places[k].ch,
			api.Draft{Message: "@all " + a.compose(replyWords).plain()}); err != nil {
			return err
		}
	}
	return nil
}

func stormJoin(a *act, s workload.Storm) error {
	name := fmt.Sprintf("%s-rally-%d", a.b.set.team, s.Index)
	ch, err := a.rally(a.b.Team, name)
	if err != nil {
		return err
	}
	if err := a.c.JoinChannel(a, ch.ID, a.id); err != nil {
		return err
	}
	return a.load(a.place(a.b.dir.channel(ch)))
}

// A rally is the channel of a storm, or the reason why there is none.
type rally struct {
	ch    api.Channel
	err   error // of the last try
	tries int   // that failed
}

// rallyTries bounds the users of a process that try to find or make the channel of a storm; all
// others fail with the last one's error. A try may take the time-out several times over, and the
// others wait for it.
const rallyTries = 3

// rally finds or creates the channel of a storm; the first caller does it for all, the others wait.
func (a *act) rally(team, name string) (api.Channel, error) {
	b := a.b
	b.storm.Lock()
	defer b.storm.Unlock()
	a.u.Rejoin(a.u.Since(b.rallied))
	if b.reg != b.ralliesOf || b.rallies == nil {
		b.rallies = map[string]*rally{}
		b.ralliesOf = b.reg
	}
	r := b.rallies[name]
	if r == nil {
		r = new(rally)
		b.rallies[name] = r
	}
	if r.ch.ID != "" {
		return r.ch, nil
	}
	if r.tries >= rallyTries {
		return api.Channel{}, r.err
	}
	ch, err := findOrMake(a, a.c, team, name)
	if exists(err) { // another process was faster
		ch, err = findOrMake(a, a.c, team, name)
	}
	b.rallied = time.Now()
	switch {
	case err == nil:
		r.ch = ch
	case a.Err() == nil:
		r.tries++
		r.err = err
	}
	return ch, err
}

// findOrMake looks for an open channel by name in the team's list, where a missing one is no failed
// op, and makes it if it is not there.
func findOrMake(ctx context.Context, c *api.Client, team, name string) (api.Channel, error) {
	for page := 0; ; page++ {
		chs, err := c.PublicChannels(ctx, team, page, pageSize)
		if err != nil {
			return api.Channel{}, err
		}
		if i := slices.IndexFunc(chs, func(ch api.Channel) bool {
			return ch.Name == name
		}); i >= 0 {
			return chs[i], nil
		}
		if len(chs) < pageSize {
			return c.MakeChannel(ctx, team, name, "O")
		}
	}
}

// Apart returns the names of the operations of logins and storms, which are not part of the steady
// state.
func Apart() []string { return apart() }

// apart is Apart with operations of extensions.
func apart(more ...string) []string {
	out := api.SeriesOf(workload.Login, more...)
	for _, kind := range slices.Sorted(maps.Keys(storms)) {
		out = append(out, api.SeriesOf(workload.StormPrefix+kind, more...)...)
	}
	return out
}
