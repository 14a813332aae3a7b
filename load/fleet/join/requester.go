package join

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// Headers of a message: the number of the request that it is of, and its state.
const (
	numberHeader = "Plimsoll-Number"
	stateHeader  = "Plimsoll-State"
)

// A state tells what a message is for. One with a body, a request or its reply, has none.
type state string

const (
	whole   state = ""
	call    state = "call"    // of a hall: who are you?
	here    state = "here"    // of a coordinator that waits for nothing: a sign of life
	ask     state = "ask"     // of one that waits for a reply
	repeat  state = "repeat"  // of one that knows that the reply was lost
	lacks   state = "lacks"   // to ask: the request did not come
	replied state = "replied" // to ask: the reply went before this
	sample  state = "sample"  // of a reader of an agent's probes
)

// again is the least time between two repetitions.
const again = time.Second

// mostMessage is the largest message that a server of ours takes, in bytes: a report of the most
// users that a host has, or their settings.
const mostMessage = 64 << 20

// headRoom is the largest size of a message without its body, in bytes.
const headRoom = 1 << 10

// errClosed is returned by a link that this end closed.
var errClosed = errors.New("the link is closed")

// numbered is a message of a request.
func numbered(subject, reply string, number uint64, s state, body []byte) *nats.Msg {
	h := nats.Header{numberHeader: {strconv.FormatUint(number, 10)}}
	if s != whole {
		h[stateHeader] = []string{string(s)}
	}
	return &nats.Msg{Subject: subject, Reply: reply, Header: h, Data: body}
}

var errMessage = errors.New("it is no message of this protocol")

// numberOf returns the number and the state of a message.
func numberOf(m *nats.Msg) (uint64, state, error) {
	n, err := strconv.ParseUint(m.Header.Get(numberHeader), 10, 64)
	if err != nil {
		return 0, "", errMessage
	}
	return n, state(m.Header.Get(stateHeader)), nil
}

// fits refuses a body that the server does not take.
func fits(nc *nats.Conn, size int) error {
	if most := nc.MaxPayload() - headRoom; int64(size) > most {
		return fmt.Errorf("a message of %d bytes is refused: the fleet's server takes at most %d "+
			"(max_payload); use more agents, or fewer users each", size, most)
	}
	return nil
}

// A Requester is the coordinator's end of a session with an agent. Each Write is a request, and
// Read returns the bytes of the replies. A request is sent again when it was lost, and so is its
// reply. Reads wait until the link is closed. Methods are safe for concurrent use.
type Requester struct {
	nc      *nats.Conn
	to      string // the agent's subject
	session string // one of the hall's with the agent
	reply   string // the subject of what the agent answers in it
	unlink  func()

	inbox
	number  uint64    // of the last request
	request []byte    // without a reply; nil for none
	sent    time.Time // when it or a repetition was last sent
}

func newRequester(nc *nats.Conn, to, reply string, unlink func()) *Requester {
	l := &Requester{nc: nc, to: to, reply: reply, unlink: unlink}
	l.changed.L = &l.mu
	return l
}

// send sends a message of the last request. Errors are not reported: what was lost is sent again.
// l.mu is held.
func (l *Requester) send(s state, body []byte) {
	if s == whole || s == repeat {
		l.sent = time.Now()
	}
	_ = l.nc.PublishMsg(numbered(l.to, l.reply, l.number, s, body))
}

// Write sends a request, the only one until it has its reply. It keeps no reference to b.
func (l *Requester) Write(b []byte) (int, error) {
	if err := fits(l.nc, len(b)); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, errClosed
	}
	l.number++
	l.request = bytes.Clone(b)
	l.send(whole, l.request)
	return len(b), nil
}

// Close ends the link at this end. The agent finds out by its own deadline.
func (l *Requester) Close() error {
	if l.shut() {
		l.unlink()
	}
	return nil
}

// beat gives a sign of life, and asks for a reply that has not come.
func (l *Requester) beat() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.number == 0: // the session has not begun
	case l.request != nil:
		l.send(ask, nil)
	default:
		l.send(here, nil)
	}
}

// receive takes in a message of the agent. NATS keeps the order of one sender: what an answer to
// ask does not know of, or what should have come before it, is lost. A reply that comes twice
// counts once.
func (l *Requester) receive(number uint64, s state, body []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if number != l.number || l.request == nil {
		return
	}
	late := time.Since(l.sent) >= again
	switch {
	case s == whole:
		l.request = nil
		l.put(body)
	case s == lacks && late:
		l.send(whole, l.request)
	case s == replied && late:
		l.send(repeat, nil)
	}
}
