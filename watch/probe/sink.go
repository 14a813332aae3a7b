package probe

import "plimsoll/watch/series"

// sink collects the samples of one call in memory that is used again by the next.
type sink struct {
	s      series.Samples
	labels []series.Label // of the samples that have none of their own
}

func (k *sink) reset() { k.s = k.s[:0] }

func (k *sink) add(name string, labels []series.Label, v float64) {
	if labels == nil {
		labels = k.labels
	}
	k.s.Add(name, labels, v)
}

// Labels makes the label list of a series, of names and values in turn; callers keep it, so that a
// sample costs no allocation.
func Labels(pairs ...string) []series.Label {
	l := make([]series.Label, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		l = append(l, series.Label{Name: pairs[i], Value: pairs[i+1]})
	}
	return l
}

// NameOf returns the name of a probe: a noun, and the instance of its labels.
func NameOf(noun string, labels []series.Label) string {
	for _, l := range labels {
		if l.Name == "instance" {
			noun += " " + l.Value
		}
	}
	return noun
}

// named keeps label lists by the value of their one label, such as a device.
type named struct {
	label string
	lists map[string][]series.Label
}

func (n *named) get(value []byte) []series.Label {
	l, ok := n.lists[string(value)]
	if !ok {
		if n.lists == nil {
			n.lists = map[string][]series.Label{}
		}
		l = Labels(n.label, string(value))
		n.lists[string(value)] = l
	}
	return l
}
