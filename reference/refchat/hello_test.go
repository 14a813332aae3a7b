package refchat

import "testing"

// An event of a user whose connection is not placed yet follows hello, in its order.
func TestHelloComesFirst(t *testing.T) {
	s := &Server{met: newMetrics(nil), faults: &faults{}}
	s.hub = newHub(s)
	c := newConn(s)
	c.userID = "ann"
	sh := s.hub.shard("ann")
	next := func() { (<-sh.inbox)(sh) }
	s.hub.register(&wsSocket{s: s, c: c})
	next()
	for _, name := range []string{"new_user", "status_change"} {
		sh.send(newEvent(name, broadcast{}), sh.byUser["ann"])
	}
	if len(c.queue) != 0 {
		t.Errorf("%d events came before hello", len(c.queue))
	}
	s.hub.place(c, nil, nil)
	next()
	sh.send(newEvent("user_updated", broadcast{}), sh.byUser["ann"])
	for _, want := range []string{"hello", "new_user", "status_change", "user_updated"} {
		select {
		case it := <-c.queue:
			if it.ev.name != want {
				t.Errorf("%s came, want %s", it.ev.name, want)
			}
		default:
			t.Fatalf("nothing came, want %s", want)
		}
	}
}
