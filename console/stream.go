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
	// commentEvery is the time between two comments, which show a browser and this server that the other is there.
	commentEvery = 10 * time.Second
)

// stream follows one run, comparison or sizing by server-sent events. Nothing is queued: the newest frame is read when
// the one before has been written, and a past goes before it when frames were left out.
func (s *Console) stream(w http.ResponseWriter, r *http.Request) {
	f := s.hub.run(r.PathValue("id"))
	if f == nil {
		refuse(w, http.StatusNotFound, "nothing of this id is under way, nor ended since serve began")
		return
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		refuse(w, http.StatusTooManyRequests, "too many browsers follow already; close a tab")
		return
	}
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		last = r.URL.Query().Get("last")
	}
	seq, err := strconv.ParseInt(last, 10, 64)
	if err != nil || seq < 0 {
		seq = -1
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	write := func(text string) bool {
		_ = out.SetWriteDeadline(time.Now().Add(writeWithin))
		if _, err := io.WriteString(w, text); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	comment := time.NewTicker(commentEvery)
	defer comment.Stop()
	judged, turns := 0, 0
	for first := true; ; first = false {
		before, n := f.judgedAfter(judged)
		text, changed, at, over := f.events(seq, &turns, first)
		text, judged = before+text, n
		seq = at
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

// events returns what a reader lacks that has the frames up to seq, a channel that is closed by the next change, the seq
// that the reader has then, and whether the stream is over. turns is the number of the frame that the reader has had.
func (f *followed) events(seq int64, turns *int, first bool) (text string, changed <-chan struct{}, at int64, over bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if seq > f.seq {
		seq = -1 // of another server's time
	}
	if f.kind == "run" && (first || seq >= 0 && f.seq > seq+1) && f.seq >= 0 {
		text += event("past", f.seq, f.past(seq))
	}
	if f.turns != *turns {
		text += event("frame", f.seq, json.RawMessage(f.frame))
	}
	*turns = f.turns
	if f.end != nil {
		text += event("end", f.seq, f.end)
	}
	return text, f.changed, f.seq, f.end != nil
}

// judgedAfter returns the event with the Judged of a comparison, if the reader has not had it yet, and its number.
func (f *followed) judgedAfter(had int) (text string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.judging == had {
		return "", had
	}
	return event("judged", -1, f.judged), f.judging
}

// liveStream sends the list of what is under way whenever it has changed.
func (s *Console) liveStream(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		refuse(w, http.StatusTooManyRequests, "too many browsers follow already; close a tab")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
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
			_ = out.SetWriteDeadline(time.Now().Add(writeWithin))
			if _, err := io.WriteString(w, text); err != nil || out.Flush() != nil {
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
