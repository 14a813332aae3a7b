package server

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Longest texts, in characters.
const (
	maxSubject = 1000
	maxStory   = 100_000
)

// dateLayout is how a story's day is written.
const dateLayout = "2006-01-02"

// routes adds the interface's generations to mux. A path that there is not leaves a telemetry
// record, too.
func (s *Server) routes(mux *http.ServeMux) {
	add := func(legacy bool, pattern, entity, operation string, fn handler) {
		mux.HandleFunc(pattern, s.handle(entity, operation, legacy, fn))
	}
	rest, legacy := s.cfg.API != APILegacy, s.cfg.API != APIREST
	if rest {
		add(false, "POST /participant", "participant", "post", addParticipant)
		add(false, "POST /participant/{id}/friends", "friends", "post", addFriends)
		add(false, "GET /participant/{id}/friends", "friends", "get", about(listFriends))
		add(false, "POST /participant/{id}/outbound", "outbound", "post", addStory)
		add(false, "GET /participant/{id}/outbound", "outbound", "get", about(listOutbound))
		add(false, "GET /participant/{id}/inbound", "inbound", "get", about(listInbound))
		add(false, "GET /outbound", "outbound", "search", search)
	}
	if legacy {
		add(true, "POST /participant/new", "participant", "post", addParticipant)
		add(true, "POST /friends/new", "friends", "post", addFriends)
		add(true, "GET /friends/{id}", "friends", "get", about(listFriends))
		add(true, "POST /outbound/new", "outbound", "post", addStory)
		add(true, "GET /outbound/{id}", "outbound", "get", about(listOutbound))
		add(true, "GET /inbound/{id}", "inbound", "get", about(listInbound))
		add(true, "POST /outbound/search", "outbound", "search", search)
	}
	add(!rest, "GET /participant/{id}", "participant", "get", about(getParticipant))
	add(false, "/", "none", "none", func(q *call) (any, error) {
		return nil, &failure{
			Text:   "there is no " + q.r.Method + " for this path",
			status: http.StatusNotFound,
		}
	})
}

// about is a handler of the participant that the path names.
func about(fn func(q *call, id int64) (any, error)) handler {
	return func(q *call) (any, error) {
		id, err := q.subject()
		if err != nil {
			return nil, err
		}
		return fn(q, id)
	}
}

// A participant as the interface shows it; without a link in the legacy generation.
type participant struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Link string `json:"link,omitempty"`
}

func (q *call) show(id int64, name string) participant {
	p := participant{ID: id, Name: name}
	if !q.legacy {
		p.Link, _ = q.ref(id).(string)
	}
	return p
}

func addParticipant(q *call) (any, error) {
	if err := q.body(); err != nil {
		return nil, err
	}
	name, err := q.text("name", maxName)
	if err != nil {
		return nil, err
	}
	var id int64
	err = q.on("database", "UpsertParticipant", func(ctx context.Context) (err error) {
		id, err = q.s.db.addParticipant(ctx, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	if q.s.cfg.Array {
		return []participant{q.show(id, name)}, nil
	}
	return q.show(id, name), nil
}

func getParticipant(q *call, id int64) (any, error) {
	name, err := q.name(id)
	if err != nil {
		return nil, err
	}
	return q.show(id, name), nil
}

// name reads a participant's name through the cache.
func (q *call) name(id int64) (string, error) {
	var kept struct {
		Name string `json:"name"`
	}
	if c := q.s.cache; c != nil {
		hit := false
		err := q.on("cache", "get", func(ctx context.Context) (err error) {
			hit, err = c.get(ctx, participantKey(id), &kept)
			return err
		})
		if err != nil {
			return "", err
		}
		q.s.met.cacheRead("participant", hit)
		if hit {
			return kept.Name, nil
		}
	}
	err := q.on("database", "FetchParticipant", func(ctx context.Context) (err error) {
		kept.Name, err = q.s.db.participant(ctx, id)
		return err
	})
	if errors.Is(err, errNoParticipant) {
		return "", unknownParticipant(id)
	}
	if c := q.s.cache; c != nil && err == nil {
		err = q.on("cache", "set", func(ctx context.Context) error {
			return c.set(ctx, participantKey(id), kept)
		})
	}
	return kept.Name, err
}

// A friendship as the interface shows it: from and to are numbers, links or, in the answer of a
// legacy creation, participants.
type friendship struct {
	ID   int64 `json:"id"`
	From any   `json:"from"`
	To   any   `json:"to"`
}

func addFriends(q *call) (any, error) {
	if err := q.body(); err != nil {
		return nil, err
	}
	from, err := q.from()
	if err != nil {
		return nil, err
	}
	to, err := reference("to", q.fields["to"])
	if err != nil {
		return nil, err
	}
	if from == to {
		return nil, badRequest("participant %d cannot befriend itself", from)
	}
	f := friendship{From: q.ref(from), To: q.ref(to)}
	err = q.on("database", "UpsertFriends", func(ctx context.Context) (err error) {
		f.ID, err = q.s.db.addFriends(ctx, from, to)
		return err
	})
	if errors.Is(err, errNoParticipant) {
		return nil, unknownParticipant(from, to)
	}
	if c := q.s.cache; c != nil {
		// Also after an error: the database may have done it.
		derr := q.on("cache", "del", func(ctx context.Context) error {
			return c.dropFriends(ctx, from, to)
		})
		err = errors.Join(err, derr)
	}
	if err != nil || !q.legacy {
		return f, err
	}
	for id, at := range map[int64]*any{from: &f.From, to: &f.To} {
		name, err := q.name(id)
		if err != nil {
			return nil, err
		}
		*at = q.show(id, name)
	}
	return f, nil
}

// friends reads a participant's friendships through the cache.
func (q *call) friends(id int64) (list []friend, err error) {
	c := q.s.cache
	turn := uint64(0)
	if c != nil {
		hit := false
		err := q.on("cache", "get", func(ctx context.Context) (err error) {
			if err := c.believe(ctx, id); err != nil {
				return err
			}
			hit, err = c.get(ctx, friendsKey(id), &list)
			return err
		})
		if err != nil {
			return nil, err
		}
		q.s.met.cacheRead("friends", hit)
		if hit {
			return list, nil
		}
		turn = c.turn(id)
	}
	err = q.on("database", "FetchFriends", func(ctx context.Context) (err error) {
		list, err = q.s.db.friends(ctx, id)
		return err
	})
	if c != nil && err == nil {
		err = q.on("cache", "set", func(ctx context.Context) error {
			return c.keepFriends(ctx, id, turn, list)
		})
	}
	return list, err
}

func listFriends(q *call, id int64) (any, error) {
	list, err := q.friends(id)
	if err != nil {
		return nil, err
	}
	out := make([]friendship, 0, len(list))
	for _, f := range list {
		out = append(out, friendship{ID: f.ID, From: q.ref(id), To: q.ref(f.Participant)})
	}
	return out, nil
}

// A message is a story as the interface shows it; To stands in an inbound only.
type message struct {
	From     any    `json:"from"`
	To       any    `json:"to,omitempty"`
	Occurred string `json:"occurred"`
	Subject  string `json:"subject"`
	Story    string `json:"story"`
}

func addStory(q *call) (any, error) {
	if err := q.body(); err != nil {
		return nil, err
	}
	from, err := q.from()
	if err != nil {
		return nil, err
	}
	row := story{From: from}
	if row.Subject, err = q.text("subject", maxSubject); err != nil {
		return nil, err
	}
	if row.Story, err = q.text("story", maxStory); err != nil {
		return nil, err
	}
	// The friends first: a story that cannot go out leaves nothing behind.
	friends, err := q.friends(from)
	if err != nil {
		return nil, err
	}
	insert := func(table int, name string, who int64) error {
		return q.on("wide", name, func(ctx context.Context) error {
			return q.s.wide.Insert(ctx, table, who, row)
		})
	}
	if err := insert(outboundTable, "insert outbound", from); err != nil {
		return nil, err
	}
	told := map[int64]bool{}
	for _, f := range friends {
		if told[f.Participant] && !q.s.cfg.Repeats {
			continue
		}
		told[f.Participant] = true
		if err := insert(inboundTable, "insert inbound", f.Participant); err != nil {
			return nil, err
		}
	}
	if err := q.on("search", "add", func(ctx context.Context) error {
		return q.s.search.Add(ctx, from, row.Story)
	}); err != nil {
		return nil, err
	}
	if q.s.cfg.Index == IndexCommit {
		if err := q.on("search", "commit", q.s.search.Commit); err != nil {
			return nil, err
		}
	}
	// The day is the client's own, if it sends one; the stored time is that of the store.
	m := message{
		From:     q.ref(from),
		Occurred: q.fields["occurred"],
		Subject:  row.Subject,
		Story:    row.Story,
	}
	if m.Occurred == "" {
		m.Occurred = time.Now().UTC().Format(dateLayout)
	}
	return m, nil
}

func listOutbound(q *call, id int64) (any, error) {
	return q.stories(outboundTable, id, func(m *message, _ story) { m.From = q.ref(id) })
}

func listInbound(q *call, id int64) (any, error) {
	return q.stories(inboundTable, id, func(m *message, row story) {
		m.From, m.To = q.ref(row.From), q.ref(id)
	})
}

func (q *call) stories(table int, id int64, people func(*message, story)) (any, error) {
	var rows []story
	err := q.on("wide", "read", func(ctx context.Context) (err error) {
		rows, err = q.s.wide.Read(ctx, table, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]message, len(rows))
	for i, row := range rows {
		out[i] = message{
			Occurred: row.Occurred.UTC().Format(dateLayout),
			Subject:  row.Subject,
			Story:    row.Story,
		}
		people(&out[i], row)
	}
	return out, nil
}

func search(q *call) (any, error) {
	word := q.r.URL.Query().Get("keywords")
	if q.r.Method == http.MethodPost {
		if err := q.body(); err != nil {
			return nil, err
		}
		word = q.fields["terms"]
	}
	if len(words(word)) != 1 {
		return nil, badRequest("%.40q is not one word: want one of letters and digits", word)
	}
	var senders []int64
	err := q.on("search", "search", func(ctx context.Context) (err error) {
		senders, err = q.s.search.Search(ctx, word)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]any, len(senders))
	for i, id := range senders {
		out[i] = q.ref(id)
	}
	return out, nil
}
