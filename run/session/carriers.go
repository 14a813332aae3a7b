package session

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/run/live"
	"plimsoll/target/lab"
	"plimsoll/watch/probe"
)

// Fingerprint returns the description of this host.
func (s *Session) Fingerprint() (h probe.Host, err error) {
	err = json.Unmarshal(s.host, &h)
	return h, err
}

// Cores returns the cores of generator and target when they share this host; empty when they are
// not placed.
func (s *Session) Cores() (generator, targets []int) { return s.generator, s.targets }

// AccountsFile describes the file of the users' accounts; nil where behaviors make them.
func (s *Session) AccountsFile() *record.AccountsFile {
	if s.accounts == nil {
		return nil
	}
	return &s.accounts.File
}

// LostAgents returns how many agents on other hosts the session has lost.
func (s *Session) LostAgents() int { return s.crew.Lost() }

// Quiet waits until no other process uses the cores of generator and target, for most at the
// longest.
func (s *Session) Quiet(ctx context.Context, most time.Duration) error { return s.quiet(ctx, most) }

// Canary starts a null server on the target's cores. perSecond measures how many requests one
// connection gets answered in a second; stop ends the server.
func (s *Session) Canary(ctx context.Context) (
	perSecond func(context.Context) (float64, error), stop func(), err error,
) {
	c, stop, err := s.null().StartCanary(ctx)
	if err != nil {
		return nil, nil, err
	}
	return c.Listen, stop, nil
}

// Publish publishes a comparison or sizing in a directory, for consoles, until end is called with
// how it ended, "" for in order. like holds its kind, id and extent. Without a socket nothing is
// published, b is nil, and the progress has the reason.
func (s *Session) Publish(
	ctx context.Context, dir string, like live.Whole,
) (b *live.Broadcast, end func(why string)) {
	like.PID = os.Getpid()
	like.Verb = s.Verb()
	like.Plan = s.Plan.Name
	like.Began = time.Now().UTC()
	var stop func()
	if s.Stop != nil {
		stop = func() { s.Stop(errStopped) }
	}
	b, err := live.OpenBroadcast(ctx, dir, like, stop)
	if err != nil {
		s.Progress.Say("plimsoll: nobody can watch this in a console: %v", err)
		return nil, func(string) {}
	}
	s.broadcast = b
	s.Progress.hear(b.SetStep, b.Say)
	return b, func(why string) {
		s.Progress.hear(nil, nil)
		s.broadcast = nil
		ending := live.Ending{State: "ended", Why: why}
		if why != "" {
			ending.State = string(record.Interrupted)
		}
		b.Close(ending)
	}
}

// Beside returns a session for one run of a block whose runs are made at the same time: a session
// carries out one run at a time. It has a name in the progress. The caller calls Together when all
// of them have ended.
func (s *Session) Beside(name string) *Session {
	one := *s
	one.Progress = s.Progress.Part(name)
	return &one
}

// Together takes back the sessions of a block.
func (s *Session) Together(beside []*Session) {
	s.Progress.Joined()
	s.starts = inARow(s.starts, beside)
}

// ComparedDeployments returns the deployments of a comparison, in a duet of systems that can be
// paused. With keep their state directories stay. The caller calls Close.
func (s *Session) ComparedDeployments(keep, duet bool) *deploy.Deployments {
	f := s.NewDeployments()
	f.Kept = keep
	f.Pausable = duet
	return f
}

// ModeOf returns the mode of a comparison that begins by a plan, with cautions.
func (s *Session) ModeOf(p *plan.Plan) (m CompareMode, cautions []string, err error) {
	return s.modeOf(p)
}

// BuildDigest names this program by its file: two builds of one version are not the same program.
func BuildDigest() (string, error) {
	exe, err := lab.Executable()
	if err != nil {
		return "", err
	}
	return record.DigestFile(exe)
}
