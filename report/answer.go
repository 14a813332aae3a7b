package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/judge/verdict"
	"plimsoll/report/draw"
)

// AnswerFile is the name of the picture of [Document.Answer] below the directory graphs, without an
// ending.
const AnswerFile = "answer"

// An Answer is the picture with which a report begins. It has a panel for each verdict and in it a
// row for each primary endpoint: the value of each arm in each block, and the differences of the
// pairs with their interval, over the band of the margin. It may be drawn any number of times. An
// Answer without panels draws an empty picture.
type Answer struct{ panels []answerPanel }

// An answerPanel is the picture of one verdict.
type answerPanel struct {
	name, kind  string // of the database; the verdict as text
	base, fresh string // labels of the arms
	index       int    // of the color of the new arm
	results     []verdict.Result
}

// Answer returns the picture of the verdicts.
func (d Document) Answer() Answer {
	var a Answer
	for _, f := range d.Verdicts {
		if len(f.Verdict.Results) == 0 {
			continue
		}
		p := answerPanel{name: test(f.Name), kind: kindText(f.Verdict.Kind, f.Verdict.Indicative),
			results: f.Verdict.Results,
			base:    d.baseLabel(), fresh: d.armLabel(f.Arm), index: 1}
		for i, arm := range d.Arms {
			if arm.Name == f.Arm && i > 0 {
				p.index = i
			}
		}
		a.panels = append(a.panels, p)
	}
	return a
}

// Empty reports whether there is nothing to show.
func (a Answer) Empty() bool { return len(a.panels) == 0 }

// texts describe the picture in sentences, one for each panel, with or without the single blocks.
func (a Answer) texts(blocks bool) []string {
	return textsOf(a.panels, func(p answerPanel) string { return p.text(blocks) })
}

func (p answerPanel) text(blocks bool) string {
	parts := make([]string, 0, len(p.results))
	for _, r := range p.results {
		text := fmt.Sprintf("%s, %s %s, %s %s, difference %s, margin %s, %s", r.Name, p.base,
			summary(r.Endpoint, r.Base), p.fresh, summary(r.Endpoint, r.New),
			effect(r), size(r.Endpoint, r.Margin), kindText(r.Kind, r.Indicative))
		if n := len(r.Pairs); n > 0 && blocks {
			each := make([]string, n)
			for i, pair := range r.Pairs {
				each[i] = pairText(r, pair)
			}
			text += " (by block: " + strings.Join(each, "; ") + ")"
		}
		parts = append(parts, text)
	}
	return fmt.Sprintf("%s: %s. %s.", p.name, p.kind, strings.Join(parts, ". "))
}

// pairText writes the difference of one pair.
func pairText(r verdict.Result, p verdict.Pair) string {
	v, ok := difference(r, p)
	if !ok {
		return dash
	}
	text := percent(v / 100)
	if r.Absolute {
		text = signed(v, 2) + " pp"
	}
	switch {
	case p.BaseCensored && p.NewCensored:
		return dash
	case p.BaseCensored:
		return "at most " + text
	case p.NewCensored:
		return "at least " + text
	}
	return text
}

// difference returns the difference of a pair in percent or points; false where it is not known.
func difference(r verdict.Result, p verdict.Pair) (float64, bool) {
	v := p.New - p.Base
	if !r.Absolute {
		v = 100 * (p.New/p.Base - 1)
	}
	return v, known(v)
}

// Sizes of a panel in its own units. A window of 400 pixels shows one at its own size.
const (
	answerWidth  = 376
	answerGap    = 28 // between panels
	answerHead   = 44
	answerRow    = 62
	answerLine   = 24 // a row without pairs
	answerFoot   = 16
	plotTop      = 18 // of the two plots, below the top of a row
	plotHeight   = 36
	valuesLeft   = 44
	valuesWidth  = 122
	changesLeft  = 214
	changesWidth = 116
	spanAt       = 350 // where the interval stands
	answerText   = 11.0
	answerSmall  = 9.5
)

// height returns the height of a panel.
func (p answerPanel) height() float64 {
	h := float64(answerHead + answerFoot)
	for _, r := range p.results {
		h += rowHeight(r)
	}
	return h
}

func rowHeight(r verdict.Result) float64 {
	if len(r.Pairs) == 0 {
		return answerLine
	}
	return answerRow
}

// shapes lays the panel out.
func (p answerPanel) shapes() draw.List {
	var l draw.List
	fresh := draw.Arm(p.index)
	l.Text("strong", 0, 14, 14, short(p.name, 30), "")
	l.Text("k-"+slug(p.kind)+" strong", answerWidth, 14, 13, strings.ToUpper(p.kind), "end")
	l.Disc("a0", 5, 29, 3.2)
	l.Text("soft", 12, 33, answerSmall+1, short(p.base, 12), "")
	at := 12 + 6*float64(len([]rune(short(p.base, 12)))) + 12
	l.Diamond(fresh, at, 29, 4)
	l.Text("soft", at+8, 33, answerSmall+1, short(p.fresh, 12), "")
	const left = changesLeft - 22
	l.Rect(fresh+" fill", left, 24, left+7, 34)
	l.Text("soft", left+11, 33, answerSmall+1, "difference", "")
	l.Rect("margin", left+72, 24, left+86, 34)
	l.Text("soft", left+90, 33, answerSmall+1, "margin", "")
	l.Line("span", left+136, 24, left+136, 34)
	l.Text("soft", left+141, 33, answerSmall+1, p.level(), "")
	y := float64(answerHead)
	for _, r := range p.results {
		p.row(&l, r, y, fresh)
		y += rowHeight(r)
	}
	p.blocks(&l, y)
	return l
}

// level names the largest level of the intervals; a row with another level names its own.
func (p answerPanel) level() string {
	level := 0.0
	for _, r := range p.results {
		if _, _, own := r.Decisive(); r.Alpha > 0 {
			level = max(level, own)
		}
	}
	if level == 0 {
		return "interval"
	}
	return verdict.LevelText(level)
}

// numbers returns the blocks of the panel's pairs in order. Each has one column in all rows, so
// that a row that lacks a pair shows which.
func (p answerPanel) numbers() []int {
	var out []int
	for _, r := range p.results {
		for _, pair := range r.Pairs {
			out = append(out, pair.Block)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// blocks writes the numbers of the blocks below the last row.
func (p answerPanel) blocks(l *draw.List, y float64) {
	numbers := p.numbers()
	n := len(numbers)
	if n == 0 {
		return
	}
	for i, number := range numbers {
		if n > 12 && i%(n/6) != 0 {
			continue
		}
		for _, x := range []float64{slotAt(valuesLeft, valuesWidth, i, n), slotAt(changesLeft, changesWidth, i, n)} {
			l.Text("soft", x, y+8, answerSmall, fmt.Sprint(number), "middle")
		}
	}
	l.Text("soft", 0, y+8, answerSmall, "block", "")
	l.Text("soft", spanAt, y+8, answerSmall, "all", "middle")
}

// slotAt is the middle of the i-th of n slots.
func slotAt(left, width float64,
	i, n int) float64 {
	return left + width*(float64(i)+0.5)/float64(n)
}

// row draws one endpoint: its name and numbers, then both plots.
func (p answerPanel) row(l *draw.List, r verdict.Result, y float64, fresh string) {
	kind := kindText(r.Kind, r.Indicative)
	change := strings.TrimSuffix(effect(r), " at "+p.level()) // the legend has it
	if change == dash {
		change = ""
	}
	before, after := summary(r.Endpoint, r.Base), summary(r.Endpoint, r.New)
	if strings.HasSuffix(after, " "+r.Unit) { // the unit stands once
		before = strings.TrimSuffix(before, " "+r.Unit)
	}
	values := before + " → " + after
	if before == dash && after == dash {
		values = ""
	}
	room := answerWidth - textWidth(change+"  ", kind)
	name := short(r.Name, max(int(room/boldSign), 8))
	if textWidth(values+" ", name) > room {
		values = "" // the plot below names the highest and the lowest
	}
	title := l.Text("strong", 0, y+11, answerText, name, "")
	title.Tail, title.Look = values, "plain"
	end := l.Text("plain", answerWidth, y+11, answerText, change, "end")
	end.Tail, end.Look = kind, "k-"+slug(kind)+" strong"
	if len(r.Pairs) > 0 {
		p.values(l, r, y+plotTop, fresh)
		p.changes(l, r, y+plotTop, fresh)
	}
}

// Widths of a letter of a row, on average.
const (
	plainSign = 6.4
	boldSign  = 7
)

// textWidth estimates the width of a plain and a bold text.
func textWidth(plain, bold string) float64 {
	return plainSign*float64(len([]rune(plain))) + boldSign*float64(len([]rune(bold)))
}

// values draws each arm's value in each block.
func (p answerPanel) values(l *draw.List, r verdict.Result, top float64, fresh string) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, pair := range r.Pairs {
		for _, v := range []float64{pair.Base, pair.New} {
			if known(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	if !(lo <= hi) {
		return
	}
	label := func(y, v float64) {
		l.Text("soft", valuesLeft-6, y, answerSmall, trim(sig(v, 3)), "end")
	}
	if hi == lo {
		label(top+plotHeight/2+4, hi)
		hi, lo = hi+1, lo-1
	} else {
		label(top+8, hi)
		label(top+plotHeight, lo)
		l.Line("grid", valuesLeft, top+4, valuesLeft+valuesWidth, top+4)
		l.Line("grid", valuesLeft, top+plotHeight-4, valuesLeft+valuesWidth, top+plotHeight-4)
	}
	at := func(v float64) float64 { return top + plotHeight - 4 - (v-lo)/(hi-lo)*(plotHeight-8) }
	numbers := p.numbers()
	n := len(numbers)
	for _, pair := range r.Pairs {
		x := slotAt(valuesLeft, valuesWidth, slices.Index(numbers, pair.Block), n)
		if known(pair.Base) && known(pair.New) {
			l.Line("grid", x, at(pair.Base), x, at(pair.New))
		}
		if known(pair.Base) {
			l.Disc(bound("a0", pair.BaseCensored), x, at(pair.Base), 3)
		}
		if known(pair.New) {
			l.Diamond(bound(fresh, pair.NewCensored), x, at(pair.New), 3.8)
		}
	}
}

// bound adds the class of hollow marks if the value is only a bound.
func bound(class string, censored bool) string {
	if censored {
		return class + " hollow"
	}
	return class
}

// changes draws the difference of each pair, their interval, and the margin behind them.
func (p answerPanel) changes(l *draw.List, r verdict.Result, top float64, fresh string) {
	axis := changeAxisOf(r, top)
	axis.frame(l)
	numbers := p.numbers()
	n := len(numbers)
	width := min(11, 0.62*changesWidth/float64(n))
	for _, pair := range r.Pairs {
		v, ok := difference(r, pair)
		if !ok {
			continue
		}
		x := slotAt(changesLeft, changesWidth, slices.Index(numbers, pair.Block), n)
		from := axis.at(0)
		to := axis.at(v)
		if math.Abs(from-to) < 1.2 { // no difference is seen too
			from, to = from-0.6, from+0.6
		}
		class := bound(fresh+" fill", pair.BaseCensored || pair.NewCensored)
		l.Rect(class, x-width/2, min(from, to), x+width/2, max(from, to))
	}
	axis.estimate(l, r, fresh)
}

// A changeAxis is the vertical axis of the differences of a result, in percent or percentage
// points.
type changeAxis struct {
	top    float64
	lo, hi float64    // the values at its ends
	scale  float64    // of the result's effect and interval
	margin [2]float64 // its ends
	unit   string
}

// changeAxisOf makes an axis that holds the margin, all differences, the effect and its interval.
func changeAxisOf(r verdict.Result, top float64) changeAxis {
	a := changeAxis{
		top:    top,
		scale:  100,
		margin: [2]float64{100 * (1/(1+r.Margin) - 1), 100 * r.Margin},
		unit:   " %",
	}
	if r.Absolute {
		a.scale = 1
		a.margin = [2]float64{-r.Margin, r.Margin}
		a.unit = " pp"
	}
	a.lo, a.hi = a.margin[0], a.margin[1]
	for _, pair := range r.Pairs {
		if v, ok := difference(r, pair); ok {
			a.hold(v)
		}
	}
	spanLo, spanHi, _ := r.Decisive()
	for _, v := range []float64{r.Effect, spanLo, spanHi} {
		a.hold(a.scale * v)
	}
	return a
}

// hold extends the axis to a value.
func (a *changeAxis) hold(v float64) {
	if known(v) {
		a.lo, a.hi = min(a.lo, v), max(a.hi, v)
	}
}

// at returns the place of a value.
func (a changeAxis) at(v float64) float64 {
	return a.top + 2 + (a.hi-v)/(a.hi-a.lo)*(plotHeight-4)
}

// frame draws the zone of the margin, and the axis with its labels.
func (a changeAxis) frame(l *draw.List) {
	right := float64(spanAt + 14)
	zero := a.at(0)
	label := func(y float64, text string) {
		l.Text("soft", changesLeft-4, y, answerSmall, text, "end")
	}
	// The zone stays visible even if it is thin.
	l.Rect("margin", changesLeft, min(a.at(a.margin[1]), zero-1.5), right,
		max(a.at(a.margin[0]), zero+1.5))
	l.Line("axis", changesLeft, zero, right, zero)
	label(min(max(zero+3, a.top+8), a.top+plotHeight), "0")
	// The end that is farther from zero gets a label.
	far := a.hi
	if -a.lo > a.hi {
		far = a.lo
	}
	if math.Abs(a.at(far)-zero) > 9 {
		label(min(max(a.at(far)+4, a.top+7), a.top+plotHeight+1), signed(far, farDigits(far))+a.unit)
	}
}

// estimate draws the interval and the effect.
func (a changeAxis) estimate(l *draw.List, r verdict.Result, fresh string) {
	if r.HasInterval() {
		lo, hi, _ := r.Decisive()
		from, to := a.at(a.scale*hi), a.at(a.scale*lo)
		l.Line("span", spanAt, from, spanAt, to)
		l.Line("span", spanAt-5, from, spanAt+5, from)
		l.Line("span", spanAt-5, to, spanAt+5, to)
	}
	if known(r.Effect) {
		l.Diamond(fresh, spanAt, a.at(a.scale*r.Effect), 4.2)
	}
}

// farDigits returns the decimals of a label.
func farDigits(v float64) int {
	switch a := math.Abs(v); {
	case a >= 10:
		return 0
	case a >= 1:
		return 1
	}
	return 2
}
