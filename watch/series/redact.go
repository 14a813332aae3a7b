package series

import (
	"fmt"
	"hash/maphash"

	"github.com/prometheus/prometheus/model/labels"
)

// Redact makes f replace the secrets in the names and values of labels before they are stored, for
// each series once: a page of a target may contain any text that it was sent. Different values stay
// different, by a number, so that a page with many secrets is still one of many series. A secret
// that f does not know when a series is first seen stays. Redact is called before the first Append.
func (db *DB) Redact(f func(text string) string) { db.write.veil.hide = f }

// A veil keeps which replacement each text with a secret has. It grows with the series that are
// stored, like their labels: of the texts themselves it keeps hashes, and those of a series that is
// refused it forgets.
type veil struct {
	hide  func(string) string // see Redact; nil for none
	seed  maphash.Seed
	known map[uint64]string // hash of a text -> its replacement
	alike map[string]int    // how many texts are replaced by one, numbers left out
	fresh []veiled          // of the series at hand
}

type veiled struct {
	text uint64
	out  string // without a number
}

// labels is lset without secrets. It is of a series that is new; forget follows if that is refused.
func (v *veil) labels(lset labels.Labels) labels.Labels {
	v.fresh = v.fresh[:0]
	if v.hide == nil {
		return lset
	}
	same := true
	b := labels.NewScratchBuilder(lset.Len())
	lset.Range(func(l labels.Label) {
		name, value := v.text(l.Name), v.text(l.Value)
		same = same && name == l.Name && value == l.Value
		b.Add(name, value)
	})
	if same {
		return lset
	}
	b.Sort()
	return b.Labels()
}

// text is one text without secrets.
func (v *veil) text(text string) string {
	out := v.hide(text)
	if out == text {
		return text
	}
	if v.known == nil {
		v.seed, v.known, v.alike = maphash.MakeSeed(), map[uint64]string{}, map[string]int{}
	}
	h := maphash.String(v.seed, text)
	if known, ok := v.known[h]; ok {
		return known
	}
	v.fresh = append(v.fresh, veiled{h, out})
	v.alike[out]++
	if n := v.alike[out]; n > 1 {
		out = fmt.Sprintf("%s %d", out, n)
	}
	v.known[h] = out
	return out
}

// forget undoes the last call of labels.
func (v *veil) forget() {
	for _, f := range v.fresh {
		delete(v.known, f.text)
		if v.alike[f.out]--; v.alike[f.out] == 0 {
			delete(v.alike, f.out)
		}
	}
	v.fresh = v.fresh[:0]
}
