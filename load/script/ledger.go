package script

import (
	"time"

	"github.com/grafana/sobek"

	"plimsoll/load/workload"
)

var ledgerNames = []string{"join", "leave", "seen", "sending", "sent"}

func ledgerMember(r *realm, name string) sobek.Value {
	return r.procedure(map[string]func(sobek.FunctionCall){
		"join": r.join, "leave": r.leave, "seen": r.seen, "sending": r.sending, "sent": r.accepted,
	}[name])
}

// join is ledger.join(channel): from now on the user should get what is said there.
func (r *realm) join(c sobek.FunctionCall) {
	r.talks().ledger.Join(r.user.ID, c.Argument(0).String(), time.Now())
}

// leave is ledger.leave(channel).
func (r *realm) leave(c sobek.FunctionCall) {
	r.talks().ledger.Leave(r.user.ID, c.Argument(0).String())
}

// sending is ledger.sending(pending, channel): a message with an id of the author's is about to be
// sent.
func (r *realm) sending(c sobek.FunctionCall) {
	t := r.talks()
	r.unanswered()
	t.pending = workload.Message{
		Pending: c.Argument(0).String(), Channel: c.Argument(1).String(), Author: r.user.ID, Sent: time.Now(),
	}
	t.ledger.Sending(t.pending.Channel, t.pending.Pending, r.user.ID)
}

// unanswered concludes the message that was begun last, if nothing was heard of it: an event may name
// it.
func (r *realm) unanswered() {
	if m := &r.talk.pending; m.Pending != "" {
		m.Acked = time.Now()
		r.talk.ledger.Unanswered(*m)
		*m = workload.Message{}
	}
}

// accepted is ledger.sent(id, channel, at): the server accepted a message that was sent at an instant
// of socket.send, or else with the last request.
func (r *realm) accepted(c sobek.FunctionCall) {
	t := r.talks()
	m := workload.Message{
		ID: c.Argument(0).String(), Channel: c.Argument(1).String(), Author: r.user.ID,
		Sent: r.frame.sent, Acked: time.Now(),
	}
	if !r.frame.at.IsZero() {
		m.Acked = r.frame.at
	}
	if missing(c.Argument(0)) {
		m.ID = "" // the answer does not name it
	}
	if p := &t.pending; p.Pending != "" && p.Channel == m.Channel {
		m.Pending = p.Pending
		if m.Sent.Before(p.Sent) {
			m.Sent = p.Sent
		}
		*p = workload.Message{}
	}
	if at := c.Argument(2); !missing(at) {
		m.Sent = began.Add(time.Duration(at.ToInteger()))
	}
	if m.Sent.IsZero() {
		panic(r.fault("ledger.sent(id, channel, at): nothing was sent; pass what socket.send returned"))
	}
	t.ledger.Acked(m)
}

// seen is ledger.seen(id, channel, pending): the message that is being handled brought this one.
func (r *realm) seen(c sobek.FunctionCall) {
	t := r.talks()
	if r.frame.at.IsZero() {
		panic(r.fault("ledger.seen() outside of the handler of a message: when it came is not known"))
	}
	t.id = append(t.id[:0], c.Argument(0).String()...)
	t.channel = append(t.channel[:0], c.Argument(1).String()...)
	t.own = t.own[:0]
	if v := c.Argument(2); !missing(v) {
		t.own = append(t.own, v.String()...)
	}
	t.ledger.Seen(r.user.ID, t.channel, t.id, t.own, r.frame.at, r.user.Recorder(), t.delivery)
}
