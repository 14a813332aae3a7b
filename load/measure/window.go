package measure

// A Window is all ops of one name in one interval, as histograms. Response, Service, Wait and Lag
// are never nil. Wait holds the ops that had to wait at all, Lag all that were [Op.Scheduled].
type Window struct {
	Name                         string
	Response, Service, Wait, Lag *Histogram
	Classes                      [NumClasses]uint64
	Bytes                        int64
}

// NewWindow returns an empty window.
func NewWindow(name string) *Window {
	return &Window{
		Name:     name,
		Response: new(Histogram),
		Service:  new(Histogram),
		Wait:     new(Histogram),
		Lag:      new(Histogram),
	}
}

// Merge adds o to w. The names need not agree; w keeps its own.
func (w *Window) Merge(o *Window) {
	of := o.histograms()
	for i, h := range w.histograms() {
		h.Merge(of[i])
	}
	w.count(&o.Classes, o.Bytes)
}

// count adds ops by class, and their bytes.
func (w *Window) count(classes *[NumClasses]uint64, bytes int64) {
	for i, n := range classes {
		w.Classes[i] += n
	}
	w.Bytes += bytes
}

// Count returns the number of ops of every class.
func (w *Window) Count() uint64 {
	var n uint64
	for _, c := range w.Classes {
		n += c
	}
	return n
}

// Errors returns the number of ops of every class but OK.
func (w *Window) Errors() uint64 { return w.Count() - w.Classes[OK] }

// ByClass counts the ops that failed by the name of their class; nil without any.
func (w *Window) ByClass() map[string]uint64 {
	var out map[string]uint64
	for i, n := range w.Classes {
		if class := Class(i); n > 0 && class != OK {
			if out == nil {
				out = map[string]uint64{}
			}
			out[class.String()] = n
		}
	}
	return out
}
