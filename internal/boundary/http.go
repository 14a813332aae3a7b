package boundary

import "net/http"

// Handler answers with status 500 where h panics, and reports the panic. An answer that has begun
// is cut off. [http.ErrAbortHandler] is not a defect and passes.
func Handler(h http.Handler, report func(*Panic)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := &begun{ResponseWriter: w}
		p := serve(h, began, r)
		if p == nil {
			return
		}
		report(p)
		if began.yes {
			panic(http.ErrAbortHandler) // the client must not take the part for the whole
		}
		http.Error(
			w,
			"this request failed by a defect of plimsoll; its log has the stack",
			http.StatusInternalServerError,
		)
	})
}

// serve returns the panic of a handler; nil without one.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (p *Panic) {
	defer func() {
		if v := recover(); v != nil {
			if v == any(http.ErrAbortHandler) {
				panic(v)
			}
			p = New("a request to "+r.Pattern, v)
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

// begun notes that an answer has begun.
type begun struct {
	http.ResponseWriter
	yes bool
}

func (b *begun) WriteHeader(status int) {
	b.yes = true
	b.ResponseWriter.WriteHeader(status)
}

func (b *begun) Write(p []byte) (int, error) {
	b.yes = true
	return b.ResponseWriter.Write(p)
}

// Unwrap lets [http.ResponseController] find the optional methods of the answer, such as flushing.
func (b *begun) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// Flush implements [http.Flusher].
func (b *begun) Flush() {
	b.yes = true
	_ = http.NewResponseController(b.ResponseWriter).Flush()
}
