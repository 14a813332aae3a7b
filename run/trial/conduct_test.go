package trial

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
)

// stormyLab is a lab whose users take part in storms; a part lasts for back.
type stormyLab struct {
	*lab
	back   time.Duration
	storms []workload.Storm
	at     []time.Time
}

func (l *stormyLab) Storm(s workload.Storm) *workload.StormState {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.storms, l.at = append(l.storms, s), append(l.at, time.Now())
	st := workload.NewStormState(3, clock.New(time.Now()))
	st.Miss()
	rec := l.reg.Recorder(0)
	l.wg.Go(func() {
		for range 2 {
			time.Sleep(l.back)
			rec.Record(rec.Name(s.Series("x")), &measure.Op{Done: l.back, Scheduled: true})
			st.Done()
		}
	})
	return st
}

func TestStormsOfTheMeasuredPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &stormyLab{lab: newLab(1000), back: 420 * time.Millisecond}
		s := spec(t, l.lab)
		s.Driver = l
		b := bounded
		b.Storms = []TimedStorm{
			{
				At:    700 * time.Millisecond,
				Storm: workload.Storm{Kind: "join", Share: 0.5, Over: time.Second},
			},
			{At: 4500 * time.Millisecond, Storm: workload.Storm{Kind: "login"}},
		}
		s.Bounded = &b
		out := carryOut(t, s)
		if len(l.storms) != 2 || l.storms[0].Index != 0 || l.storms[1].Index != 1 ||
			l.storms[0].Share != 0.5 {
			t.Fatalf("storms %+v", l.storms)
		}
		for i, want := range []time.Duration{3700 * time.Millisecond, 7500 * time.Millisecond} {
			if got := l.at[i].Sub(s.Clock.Epoch()); got != want {
				t.Errorf("storm %d began at %v, want %v", i, got, want)
			}
		}
		r := finish(t, s, out)
		u, err := r.Users()
		if err != nil || u == nil || len(u.Storms) != 2 {
			t.Fatalf("%+v, %v", u, err)
		}
		first, second := u.Storms[0], u.Storms[1]
		if first.Affected != 3 || first.Done != 2 || first.Missed != 1 ||
			first.Back != 840*time.Millisecond ||
			first.To != 4750*time.Millisecond {
			t.Errorf("first storm %+v", first)
		}
		// The second ends with the phase, one user short.
		if second.Done != 1 || second.Missed != 1 || second.To != 8*time.Second {
			t.Errorf("second storm %+v", second)
		}
		ev := eventsOf(t, r)
		var kinds []string
		for _, e := range ev {
			if strings.HasPrefix(e.Kind, "storm") {
				kinds = append(kinds, e.Kind)
			}
		}
		if !slices.Equal(kinds, []string{"storm", "storm over", "storm"}) {
			t.Errorf("events %v", kinds)
		}
		o, err := r.Outside(u.Storms)
		if err != nil || o.Storms[0]["storm_join_x"].Count() != 2 {
			t.Errorf("operations of the storm: %v, %v", o.Storms, err)
		}
	})
}

func TestStormsNeedADriverThatHasThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := spec(t, newLab(1000))
		b := bounded
		b.Storms = []TimedStorm{{At: time.Second, Storm: workload.Storm{Kind: "join"}}}
		s.Bounded = &b
		if _, err := Run(t.Context(), s); err == nil ||
			!strings.Contains(err.Error(), "no storms") {
			t.Errorf("got %v", err)
		}
		if _, err := s.Writer.Seal(context.Background(), record.Validity{}, "test"); err != nil {
			t.Fatal(err)
		}
	})
}

// Operations before the measured phase do not count in its mix.
func TestMixIsOfTheMeasuredPhase(t *testing.T) {
	for _, tt := range []struct {
		name string
		act  func(c *workload.Counts, i int)
		want string // findings
	}{
		{"as asked", func(c *workload.Counts, i int) { c.Succeed(i % 2) }, ""},
		{"something else", func(c *workload.Counts, i int) { c.Succeed(min(i%4, 1)) }, "amber mix"},
		{"nothing", func(c *workload.Counts, i int) { c.Fail(i % 2) }, "red behavior"},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			s := boundedSpec(t, newLab(1000))
			s.Tally = new(workload.Tally)
			c := s.Tally.Behavior("b", []workload.TallyAction{{
				Name:   "look",
				Weight: 1,
			}, {Name: "post", Weight: 1}})
			for range 100000 {
				c.Attempt(0)
				c.Succeed(0)
			}
			time.AfterFunc(4500*time.Millisecond, func() {
				for i := range 10000 {
					c.Attempt(i % 2)
					tt.act(c, i)
				}
			})
			out := carryOut(t, s)
			if gates(out.Validity) != tt.want ||
				out.Validity.Valid != !strings.Contains(tt.want, "red") {
				t.Errorf("findings %q, want %q", gates(out.Validity), tt.want)
			}
			u, err := finish(t, s, out).Users()
			if err != nil || u.Phase != "measure" || len(u.Mixes) != 1 ||
				u.Mixes[0].Attempts != 10000 {
				t.Fatalf("%+v, %v", u, err)
			}
			if tt.name == "something else" &&
				!strings.Contains(out.Validity.Findings[0].Text, "post 75.0 % instead of 50.0 %") {
				t.Errorf("text %q", out.Validity.Findings[0].Text)
			}
		})
	}
}

// An operation that ends in an expected answer more often than users who cross each other's ways
// explain is a finding; some such answers, or ones outside the measured phase, are not findings.
// Failed operations are not counted twice.
func TestTooManyExpectedAnswersAreAFinding(t *testing.T) {
	for _, tt := range []struct {
		name  string
		at    time.Duration
		n, ok int
		want  string
	}{
		{"a few", 4500 * time.Millisecond, 19, 30, ""},
		{"some of many", 4500 * time.Millisecond, 50, 1000, ""},
		{"too many", 4500 * time.Millisecond, 51, 1000, "amber expected answers"},
		{"before the phase", time.Second, 51, 1000, ""},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			l := newLab(1000)
			s := boundedSpec(t, l)
			time.AfterFunc(tt.at, func() {
				rec := l.reg.Recorder(0)
				for range tt.ok {
					rec.Record(rec.Name("view"), &measure.Op{Done: time.Millisecond})
				}
				for range tt.n {
					workload.Anticipated(l.reg, "view", 404, "app.post.get.app_error", 0)
				}
			})
			out := carryOut(t, s)
			if gates(out.Validity) != tt.want || !out.Validity.Valid {
				t.Errorf("findings %q, want %q", gates(out.Validity), tt.want)
			}
			if tt.want != "" &&
				!strings.HasPrefix(
					out.Validity.Findings[0].Text,
					"51 of 1000 operations view (5.1 %)",
				) {
				t.Errorf("text %q", out.Validity.Findings[0].Text)
			}
		})
	}
}

// One message in ten is lost to one of ten recipients: the rule sees 1 % of the expected messages.
func TestRulesAboutMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(1000)
		s := spec(t, l)
		b := bounded
		b.Measure = 10 * time.Second
		s.Bounded = &b
		s.Rules = rules(t, "rate(lost) < 0.5% min 100", "rate(duplicated) < 0.5% min 100")
		s.Ledger = workload.NewLedger(time.Second, 1)
		rec := l.reg.Recorder(0)
		for u := range 10 {
			s.Ledger.Connected(u, time.Now(), false)
			s.Ledger.Join(u, "c", time.Now())
		}
		time.Sleep(time.Millisecond)
		l.wg.Go(func() {
			for i := range 200 {
				id := strings.Repeat("x", i+1)
				now := time.Now()
				s.Ledger.Acked(workload.Message{
					ID:      id,
					Channel: "c",
					Author:  -1,
					Sent:    now,
					Acked:   now,
				})
				for u := range 10 {
					if u > 0 || i%10 != 0 {
						s.Ledger.Seen(
							u,
							[]byte("c"),
							[]byte(id),
							nil,
							now,
							rec,
							rec.Name(workload.Delivery),
						)
					}
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
		out := carryOut(t, s)
		if len(out.Broken) != 1 ||
			!strings.HasPrefix(out.Broken[0], "rate(lost) < 0.5% min 100: 1") {
			t.Errorf("broken %q, findings %q", out.Broken, gates(out.Validity))
		}
		u, err := finish(t, s, out).Users()
		if err != nil || u.Grace != time.Second || u.Whole.Acked != 200 || u.Whole.Lost != 20 ||
			u.Messages.Acked >= 200 ||
			u.Messages.Lost >= 20 {
			t.Errorf("%+v, %v", u, err)
		}
	})
}

func TestAudit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		audit  func(context.Context) (workload.AuditResult, error)
		broken string
		took   time.Duration
		err    string
		gates  string
	}{
		{"all there", func(context.Context) (workload.AuditResult, error) {
			time.Sleep(1500 * time.Millisecond)
			return workload.AuditResult{Expected: 5, Readable: 5, Part: 1}, nil
		}, "", 1500 * time.Millisecond, "", ""},
		{"two are gone", func(context.Context) (workload.AuditResult, error) {
			r := workload.AuditResult{Expected: 5, Readable: 3, Part: 1}
			r.Miss("aaa")
			r.Miss("bbb")
			return r, nil
		}, "the target lost messages that it had acknowledged: 2 of 5 cannot be read (aaa, bbb)", 0, "", ""},
		{"a server that does not answer", func(ctx context.Context) (workload.AuditResult, error) {
			<-ctx.Done()
			return workload.AuditResult{Expected: 5, Part: 1}, errors.New("gave up")
		}, "", time.Minute, "gave up", "red audit"},
		{"and a reader who does not say so", func(ctx context.Context) (workload.AuditResult, error) {
			<-ctx.Done()
			return workload.AuditResult{Expected: 5, Part: 1}, nil
		}, "", time.Minute, "", "red audit"},
		{"a server that fails once", func(context.Context) (workload.AuditResult, error) {
			return workload.AuditResult{Expected: 5, Readable: 4, Part: 1}, errors.New("status 500")
		}, "", 0, "status 500", "red audit"},
		{"more than the time allows", func(ctx context.Context) (workload.AuditResult, error) {
			<-ctx.Done()
			return workload.AuditResult{Expected: 5, Readable: 4, Part: 1}, nil
		}, "", time.Minute, "", "amber audit"},
		{"nobody may read two, which accuses nobody", func(context.Context) (workload.AuditResult, error) {
			r := workload.AuditResult{Expected: 5, Readable: 3, Part: 1}
			r.Refuse(2, "get_posts: status 403")
			return r, nil
		}, "", 0, "", "amber audit"},
		{"nobody may read any", func(context.Context) (workload.AuditResult, error) {
			r := workload.AuditResult{Expected: 5, Part: 1}
			r.Refuse(5, "get_posts: status 403")
			return r, nil
		}, "", 0, "", "amber audit"},
		{"left out on purpose", func(context.Context) (workload.AuditResult, error) {
			return workload.AuditResult{Expected: 5, Readable: 4, Part: 1}, nil
		}, "", 0, "", "amber audit"},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			s := boundedSpec(t, newLab(1000))
			s.Audit = tt.audit
			out := carryOut(t, s)
			if strings.Join(out.Broken, "") != tt.broken || gates(out.Validity) != tt.gates ||
				out.Validity.Valid != !strings.Contains(tt.gates, "red") {
				t.Errorf("broken %q, findings %q", out.Broken, gates(out.Validity))
			}
			r := finish(t, s, out)
			if ph := r.Manifest.Phases[len(r.Manifest.Phases)-1]; ph.Name != "audit" ||
				ph.To <= ph.From {
				t.Errorf("last phase %+v", ph)
			}
			u, err := r.Users()
			if err != nil || u.Audit == nil || u.Audit.Expected != 5 || u.Audit.Error != tt.err ||
				u.Audit.Took < tt.took ||
				u.Audit.Took > tt.took+time.Second {
				t.Errorf("%+v, %v", u.Audit, err)
			}
		})
	}
}

func TestNoAuditOfAnInterruptedTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := boundedSpec(t, newLab(1000))
		s.Ledger = workload.NewLedger(0, 1)
		s.Audit = func(context.Context) (workload.AuditResult, error) {
			t.Error("audited")
			return workload.AuditResult{}, nil
		}
		out := interrupted(t, s)
		if u, err := finish(t, s, out).Users(); err != nil || u == nil || u.Audit != nil ||
			u.Phase != "measure" {
			t.Errorf("%+v, %v", u, err)
		}
	})
}
