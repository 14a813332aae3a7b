package refchat

import (
	"context"
)

// A user is online by acting, and offline again when the last WebSocket has closed.
const (
	online            = "online"
	offline           = "offline"
	statusMinUpdateMS = 120_000 // between database updates of an unchanged status
)

// setOnline notes that a user acted. Changes are written to the database at once, mere activity
// every two minutes.
func (s *Server) setOnline(ctx context.Context, userID string) {
	old, gen, ok := s.statuses.get(userID)
	if !ok {
		list, err := statusesByIDs.list(fromMaster(ctx), s.st, []string{userID})
		if err != nil {
			s.log.Warn("reading a status", "err", err)
			return
		}
		old = &status{UserID: userID, Status: offline}
		if len(list) > 0 {
			old = list[0]
		}
		s.statuses.put(userID, old, gen)
	}
	if old.Manual {
		return
	}
	now := &status{UserID: userID, Status: online, LastActivityAt: millis()}
	changed := old.Status != online
	if !changed && now.LastActivityAt-old.LastActivityAt < statusMinUpdateMS {
		return // the cached time is the time of the last write
	}
	s.statuses.set(userID, now)
	if !changed {
		s.warn("updating a status", touchStatus.run(ctx, s.st, now.LastActivityAt, userID))
		return
	}
	s.saveStatus(ctx, now)
}

// setOffline notes that a user's last WebSocket has gone.
func (s *Server) setOffline(ctx context.Context, userID string) {
	if old, _, ok := s.statuses.get(userID); ok && (old.Manual || old.Status == offline) {
		return
	}
	now := &status{UserID: userID, Status: offline, LastActivityAt: millis()}
	s.statuses.set(userID, now)
	s.saveStatus(ctx, now)
}

func (s *Server) saveStatus(ctx context.Context, x *status) {
	s.warn("saving a status", saveStatus.run(ctx, s.st, statusKind.content(x)...))
	s.bus.send(busMessage{Drop: dropStatus, Key: x.UserID})
	s.publish("status_change", broadcast{UserID: x.UserID}, "status", x.Status, "user_id", x.UserID)
}

// statusesOf returns a status for every id: offline for those that have none.
func (s *Server) statusesOf(ctx context.Context, ids []string) ([]*status, error) {
	out := make([]*status, 0, len(ids))
	var missing []string
	gens := map[string]uint64{}
	for _, id := range ids {
		x, gen, ok := s.statuses.get(id)
		if ok {
			out = append(out, x)
		} else if _, asked := gens[id]; !asked {
			missing = append(missing, id)
			gens[id] = gen
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	list, err := statusesByIDs.list(fromMaster(ctx), s.st, missing)
	if err != nil {
		return nil, errStore("status.get", err)
	}
	found := map[string]*status{}
	for _, x := range list {
		found[x.UserID] = x
	}
	for _, id := range missing {
		x := found[id]
		if x == nil {
			x = &status{UserID: id, Status: offline}
		}
		s.statuses.put(id, x, gens[id])
		out = append(out, x)
	}
	return out, nil
}

func (q *request) getStatuses(ids []string) error {
	if err := validIDs(ids, "user_ids"); err != nil {
		return err
	}
	list, err := q.statusesOf(q, ids)
	return q.answer(list, err)
}

func (q *request) getStatus() error {
	list, err := q.statusesOf(q, []string{q.id})
	if err != nil {
		return err
	}
	return q.reply(list[0])
}
