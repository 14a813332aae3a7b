package console

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

const (
	// maxStreams bounds the browsers that follow at a time.
	maxStreams = 32
	// writeWithin is the time that a browser has to take an event.
	writeWithin = 10 * time.Second
	// commentEvery is the time between two comments, which show a browser and this server that the
	// other is there.
	commentEvery = 10 * time.Second
)

// seat makes w a stream of events. write sends some, and reports whether the browser took them; it
// is nil when there are too many browsers, and the refusal was written. leave ends the stream.
func (s *Console) seat(w http.ResponseWriter) (write func(text string) bool, leave func()) {
	select {
	case s.streams <- struct{}{}:
	default:
		refuse(w, http.StatusTooManyRequests, "too many browsers follow already; close a tab")
		return nil, nil
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	write = func(text string) bool {
		_ = out.SetWriteDeadline(time.Now().Add(writeWithin))
		if _, err := io.WriteString(w, text); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	return write, func() { <-s.streams }
}

// stream follows one run, comparison or sizing by server-sent events. Nothing is queued: the newest
// frame is read when the one before has been written, and a past goes before it when frames were
// left out.
func (s *Console) stream(w http.ResponseWriter, r *http.Request) {
	f := s.hub.run(r.PathValue("id"))
	if f == nil {
		refuse(
			w,
			http.StatusNotFound,
			"nothing of this id is under way, nor ended since serve began",
		)
		return
	}
	write, leave := s.seat(w)
	if write == nil {
		return
	}
	defer leave()
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		last = r.URL.Query().Get("last")
	}
	seq, err := strconv.ParseInt(last, 10, 64)
	if err != nil || seq < 0 {
		seq = -1
	}
	comment := time.NewTicker(commentEvery)
	defer comment.Stop()
	judged, had := 0, heardUpTo{seq: seq}
	for {
		before, n := f.judgedAfter(judged)
		text, changed, now, over := f.events(had)
		text = before + text
		judged = n
		had = now
		if text != "" && !write(text) || over {
			return
		}
		select {
		case <-changed:
		case <-comment.C:
			if !write(": here\n\n") {
				return
			}
		case <-r.Context().Done():
			return
		case <-s.closing:
			return
		}
	}
}

// heardUpTo is the position of a reader: it has the seconds up to seq (-1: none), and frames counts
// the frames that it has of this server.
type heardUpTo struct {
	seq    int64
	frames int
	past   bool // of this server
}

// events returns the events that a reader lacks, a channel that is closed by the next change, the
// reader's new position, and whether the stream is over.
func (f *followed) events(
	had heardUpTo,
) (text string, changed <-chan struct{}, now heardUpTo, over bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if had.seq > f.seq {
		had.seq = -1 // of another server's time
	}
	if f.kind == "run" && f.seq >= 0 && (!had.past || f.seq > had.seq+1) {
		text += event("past", f.seq, f.past(had.seq))
		had.past = true
	}
	if f.frame != nil && f.frames > had.frames {
		text += event("frame", f.seq, json.RawMessage(f.frame))
	}
	if f.end != nil {
		text += event("end", f.seq, f.end)
	}
	return text, f.changed, heardUpTo{f.seq, f.frames, had.past}, f.end != nil
}

// judgedAfter returns the event with the Judged of a comparison, if the reader has not had it yet,
// and its number.
func (f *followed) judgedAfter(had int) (text string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.judging == had {
		return "", had
	}
	return event("judged", -1, f.judged), f.judging
}

// liveStream sends the list of runs, comparisons and sizings under way whenever it changes.
func (s *Console) liveStream(w http.ResponseWriter, r *http.Request) {
	write, leave := s.seat(w)
	if write == nil {
		return
	}
	defer leave()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	was, silent := "", time.Now()
	for {
		text := event("live", -1, map[string]any{"items": s.hub.list()})
		switch {
		case shape(text) != was:
			was = shape(text)
		case time.Since(silent) < commentEvery:
			text = ""
		default:
			text = ": here\n\n"
		}
		if text != "" {
			silent = time.Now()
			if !write(text) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-s.closing:
			return
		}
	}
}

// heardAt matches the part of a list that changes every second.
var heardAt = regexp.MustCompile(`"heard":"[^"]*"`)

func shape(text string) string { return heardAt.ReplaceAllString(text, "") }

// event renders one event. JSON has no raw line ends, so that data is one line.
func event(name string, seq int64, data any) string {
	b, err := json.Marshal(data)
	if err != nil {
		return "" // a frame was valid JSON when it was taken
	}
	id := ""
	if seq >= 0 {
		id = "id: " + strconv.FormatInt(seq, 10) + "\n"
	}
	return "event: " + name + "\n" + id + "data: " + string(b) + "\n\n"
}
