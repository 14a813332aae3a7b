package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"plimsoll/watch/series"
)

// contentType is that of the page. Prometheus reads it for any Accept header.
const contentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// Series of the page that are about the agent itself.
const (
	metricInfo     = "plimsoll_agent_info"
	metricReceived = "plimsoll_agent_received_timestamp_seconds"
	metricReplied  = "plimsoll_agent_replied_timestamp_seconds"
	metricUp       = "plimsoll_probe_up"
	metricSeconds  = "plimsoll_probe_seconds"
)

// A page is an exposition that is being written. Appended samples must not change until bytes is called.
type page struct {
	samples []series.Sample
	text    []byte
}

func (p *page) add(s ...series.Sample) { p.samples = append(p.samples, s...) }

// bytes writes the page, valid until the next call, and empties it. Only counters with the suffix _total have a type:
// the others bear the names of exporters that count without the suffix.
func (p *page) bytes() []byte {
	slices.SortStableFunc(p.samples, func(a, b series.Sample) int { return cmp.Compare(a.Name, b.Name) })
	b := p.text[:0]
	last := ""
	for _, s := range p.samples {
		if s.Name != last {
			last = s.Name
			if family, ok := strings.CutSuffix(s.Name, "_total"); ok {
				b = append(append(append(b, "# TYPE "...), family...), " counter\n"...)
			} else {
				b = append(append(append(b, "# TYPE "...), s.Name...), " unknown\n"...)
			}
		}
		b = append(b, s.Name...)
		sep := byte('{')
		for _, l := range s.Labels {
			b = append(append(append(b, sep), l.Name...), `="`...)
			b = appendEscaped(b, l.Value)
			b = append(b, '"')
			sep = ','
		}
		if sep == ',' {
			b = append(b, '}')
		}
		b = append(b, ' ')
		b = strconv.AppendFloat(b, s.Value, 'g', -1, 64)
		b = append(b, '\n')
	}
	b = append(b, "# EOF\n"...)
	clear(p.samples)
	p.samples, p.text = p.samples[:0], b
	return b
}

func appendEscaped(b []byte, v string) []byte {
	for _, c := range strings.ToValidUTF8(v, "\uFFFD") {
		switch c {
		case '\\':
			b = append(b, `\\`...)
		case '"':
			b = append(b, `\"`...)
		case '\n':
			b = append(b, `\n`...)
		default:
			b = append(b, string(c)...)
		}
	}
	return b
}

// maxSeries bounds the samples of a page, and the different series of all pages that a parser has read.
const maxSeries = 50_000

// A parser reads pages. It keeps the labels of each series, with those that it adds.
type parser struct {
	add   []series.Label
	known map[string]series.Sample // by text as exposed
	held  int                      // bytes of those texts
}

// parse returns the samples of a whole page, valid until the next call; without its last line it is cut off, which is
// an error. A series that has one of the labels to add already is refused. So is a page with series that no page had
// before, once there were maxSeries of them, or texts of series.MaxSourceBytes.
func (r *parser) parse(body []byte, into []series.Sample) ([]series.Sample, error) {
	if r.known == nil {
		r.known = map[string]series.Sample{}
	}
	p, err := textparse.New(body, "application/openmetrics-text", nil, textparse.ParserOptions{})
	if err != nil {
		return nil, err
	}
	for {
		kind, err := p.Next()
		if errors.Is(err, io.EOF) {
			return into, nil
		}
		if err != nil {
			return nil, fmt.Errorf("sample %d: %w", len(into)+1, err)
		}
		if kind != textparse.EntrySeries {
			continue
		}
		text, stamp, v := p.Series()
		if stamp != nil {
			return nil, fmt.Errorf("sample %d has a time stamp of its own", len(into)+1)
		}
		if len(into) >= maxSeries {
			return nil, fmt.Errorf("more than %d samples", maxSeries)
		}
		s, ok := r.known[string(text)]
		if !ok {
			switch {
			case len(r.known) >= maxSeries:
				return nil, fmt.Errorf("more than %d different series since the first page", maxSeries)
			case len(text) > 2*series.MaxLabelBytes:
				return nil, fmt.Errorf("sample %d: a series of %d bytes; want at most %d", len(into)+1, len(text), 2*series.MaxLabelBytes)
			case r.held+len(text) > series.MaxSourceBytes:
				return nil, fmt.Errorf("different series of more than %d MiB since the first page", series.MaxSourceBytes>>20)
			}
			if s, err = r.sample(p); err != nil {
				return nil, fmt.Errorf("sample %d: %w", len(into)+1, err)
			}
			r.known[string(text)] = s
			r.held += len(text)
		}
		s.Value = v
		into = append(into, s)
	}
}

func (r *parser) sample(p textparse.Parser) (s series.Sample, err error) {
	var ls labels.Labels
	p.Labels(&ls)
	if name, dup := ls.HasDuplicateLabelNames(); dup {
		return s, fmt.Errorf("label %q occurs twice", name)
	}
	ls.Range(func(l labels.Label) {
		if l.Name == model.MetricNameLabel {
			s.Name = strings.Clone(l.Value)
			return
		}
		for _, a := range r.add {
			if a.Name == l.Name {
				err = fmt.Errorf("it has a label %q already", l.Name)
			}
		}
		s.Labels = append(s.Labels, series.Label{Name: strings.Clone(l.Name), Value: strings.Clone(l.Value)})
	})
	// A quoted name may be of any characters. Pages are written without quotes.
	for _, l := range s.Labels {
		if !model.LegacyValidation.IsValidLabelName(l.Name) && err == nil {
			err = fmt.Errorf("%.100q is no name of a label", l.Name)
		}
	}
	if !model.LegacyValidation.IsValidMetricName(s.Name) && err == nil {
		err = fmt.Errorf("%.100q is no name of a metric", s.Name)
	}
	s.Labels = append(s.Labels, r.add...)
	slices.SortFunc(s.Labels, func(a, b series.Label) int { return cmp.Compare(a.Name, b.Name) })
	return s, err
}

// label returns the value of a sample's label, or "".
func label(s series.Sample, name string) string {
	for _, l := range s.Labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}
