package series

import (
	"fmt"

	"github.com/prometheus/prometheus/model/labels"
)

// Redact makes f replace the secrets in the names and values of labels before they are stored, for each series once:
// a page of a target may contain any text that it was sent. Different values stay different, by a number, so that a
// page with many secrets is still one of many series. A secret that f does not know when a series is first seen
// stays. Redact is called before the first Append.
func (db *DB) Redact(f func(text string) string) { db.write.redact = f }

// redacted is lset without secrets.
func (w *writer) redacted(lset labels.Labels) labels.Labels {
	if w.redact == nil {
		return lset
	}
	same := true
	b := labels.NewScratchBuilder(lset.Len())
	lset.Range(func(l labels.Label) {
		name, value := w.veil(l.Name), w.veil(l.Value)
		same = same && name == l.Name && value == l.Value
		b.Add(name, value)
	})
	if same {
		return lset
	}
	b.Sort()
	return b.Labels()
}

// veil is one text without secrets.
func (w *writer) veil(text string) string {
	out := w.redact(text)
	if out == text {
		return text
	}
	if known, ok := w.veiled[text]; ok {
		return known
	}
	if w.veiled == nil {
		w.veiled, w.alike = map[string]string{}, map[string]int{}
	}
	w.alike[out]++
	if n := w.alike[out]; n > 1 {
		out = fmt.Sprintf("%s %d", out, n)
	}
	w.veiled[text] = out
	return out
}
