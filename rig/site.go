package rig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/target"
	"plimsoll/target/external"
)

// mostUndeployed is how many runs in a row, of one arm or of all, may find no target as the plan wants it before the
// comparison ends: then it is the command or the target.
const mostUndeployed = 3

// commandsFile is the file of a run with the output of the plan's commands before it.
const commandsFile = "commands.log"

// The names of facts in the description of a target.
const (
	stateFact = "state"             // the objects after the reset that are compared
	usersFact = "provisioned users" // whether the reset keeps them
	seenFact  = "seen"              // the servers that probes found
)

// mostCommandLog bounds that file, in bytes: of a longer output its beginning and its end are kept.
const mostCommandLog = 4 << 20

// The counts of a server's objects, in the order of texts.
var objectNames = []string{"users", "channels", "posts"}

// A grounds is what the systems of a session share of targets that others run: what stands where, and what the first
// run found. Its fields and its methods, of which succeed takes the lock itself, are for the goroutine that holds it: the
// runs of a duet are prepared one after the other.
type grounds struct {
	sync.Mutex
	standing map[string]string           // by addresses, the arm and engine that was installed there last
	restored map[string]bool             // by addresses, whether the last reset there ended well
	broken   map[string]string           // by addresses, the arm and engine that failed there since it was in order; or several
	first    map[string]map[string]int64 // by engine, the objects that the first run found
	failed   map[string]int              // by arm and engine, how many runs in a row found no target; "" for all
}

func newGrounds() *grounds {
	return &grounds{standing: map[string]string{}, restored: map[string]bool{}, broken: map[string]string{}, first: map[string]map[string]int64{}, failed: map[string]int{}}
}

// fail notes a run without a target and returns the longest row that it is part of.
func (g *grounds) fail(key string) int {
	g.failed[key]++
	g.failed[""]++
	return max(g.failed[key], g.failed[""])
}

// succeed ends the rows of an arm and of all.
func (g *grounds) succeed(key string) {
	g.Lock()
	defer g.Unlock()
	delete(g.failed, key)
	delete(g.failed, "")
}

// A commanded is the part of a system that others run and the plan's own commands install and reset.
type commanded struct {
	*external.Site
	key         string // arm and engine
	engine      string
	want        string // the version of the arm; empty if it is not compared
	verify      plan.Verification
	provision   func(ctx context.Context) error
	surveyed    bool // probes and route
	provisioned bool // once
	grounds     *grounds
}

// commandsOf returns the part; nil where the plan has no commands for the target and nothing to verify.
func (f *Deployments) commandsOf(sys *System, t plan.Target, key, eng string, provision func(context.Context, target.Endpoint) error) (*commanded, error) {
	site, ok := sys.Deployment.(*external.Site)
	if !ok || len(t.Install) == 0 && len(t.Reset) == 0 && t.Verify.Version != plan.FromAPI {
		return nil, nil
	}
	if err := site.LookUp(); err != nil {
		return nil, plan.UsageError{Err: err}
	}
	c := &commanded{Site: site, key: key, engine: eng, verify: t.Verify, grounds: f.grounds,
		provision: func(ctx context.Context) error { return provision(ctx, site) }}
	if t.Verify.Version == plan.FromAPI {
		c.want = t.Version
	}
	d := f.s.Dialects.OfPlan(f.s.Plan)
	if c.want != "" && (d == nil || d.Release == nil) {
		return nil, plan.Usagef("target.verify.version: this kind of server does not report its version; write none")
	}
	if t.Verify.Counts() && (d == nil || d.Objects == nil) {
		return nil, plan.Usagef("target.verify: this kind of server does not report how many users, channels and posts it has; write none for each of them")
	}
	return c, nil
}

// prepare brings the target of a run into the state that the plan wants, and checks it: the version is installed, the
// state put back, and both are as they should be. The returned text is the output of the commands, also with an error.
// An error of the kind [plan.UsageError], or with an ended context, is no matter of the target.
func (s *Session) prepare(ctx context.Context, sys *System, pt RunPart) (log []byte, err error) {
	c, out := sys.commanded, new(excerpt)
	c.grounds.Lock()
	defer c.grounds.Unlock()
	turn := external.Turn{Block: pt.Block, Run: pt.Order, Log: out}
	defer func() { log = out.bytes() }()
	for _, fact := range []string{stateFact, usersFact} {
		c.Note(fact, "")
	}
	where, fresh := c.where(), false
	if c.Installs() && c.grounds.standing[where] != c.key {
		s.Progress.Doing("installing", s.length(pt))
		delete(c.grounds.standing, where)
		if err := c.Install(ctx, turn); err != nil {
			return nil, err
		}
		fresh = true
	}
	if !c.surveyed {
		if err := s.survey(ctx, sys); err != nil {
			return nil, err
		}
		c.surveyed = true
	}
	if err := s.checkRelease(ctx, sys); err != nil {
		return nil, err
	}
	if fresh {
		c.grounds.standing[where] = c.key
	}
	if !c.Resets() {
		delete(c.grounds.broken, where) // what an arm before may have left, this one starts from
		return nil, s.unreset(ctx, sys, fresh)
	}
	if !c.provisioned { // whether the reset keeps the users or not, all runs find the same
		if err := c.provision(ctx); err != nil {
			return nil, fmt.Errorf("provisioning: %w", err)
		}
		c.provisioned = true
	}
	s.Progress.Doing("resetting", s.length(pt))
	if err := c.reset(ctx, turn); err != nil {
		return nil, err
	}
	// A reset that ends with another version, because it restores more than data, is found here.
	if err := s.checkRelease(ctx, sys); err != nil {
		return nil, err
	}
	there, err := s.checkObjects(ctx, sys)
	if err != nil {
		return nil, err
	}
	if err := c.provision(ctx); err != nil {
		return nil, fmt.Errorf("provisioning after the reset: %w", err)
	}
	return nil, s.noteUsers(ctx, sys, there)
}

// ready is prepare, and in a duet another look at the version when the targets of all arms are prepared: two addresses may
// lead to one server, where the last installation is that of all.
func (s *Session) ready(ctx context.Context, sys *System, pt RunPart) (log []byte, err error) {
	log, err = s.prepare(ctx, sys, pt)
	if err != nil || pt.Place == nil {
		return log, err
	}
	if err := pt.Place.muster(ctx); err != nil {
		return log, err
	}
	if err := s.checkRelease(ctx, sys); err != nil {
		return log, fmt.Errorf("before the first turn, after the other arms were prepared: %w", err)
	}
	return log, nil
}

// where names the place that the target's arms may share.
func (c *commanded) where() string { return strings.Join(c.URLs(), " ") }

// reset puts the state back and notes whether it is back, also where the target does not start from it.
func (c *commanded) reset(ctx context.Context, turn external.Turn) error {
	delete(c.grounds.restored, c.where())
	err := c.ResetFor(ctx, turn)
	if err == nil || errors.Is(err, target.ErrStart) {
		c.grounds.restored[c.where()] = true
		delete(c.grounds.broken, c.where())
	}
	return err
}

// several is in place of the arm where more than one has failed: no arm has a name with a space.
const several = "several arms"

// gate returns the finding of a run that cause left without a target, and notes that this arm failed there. A target
// that does not start is the arm's failure only if its state was put back, and no other arm has failed there since: it
// may be a failed reset, or what a broken installation or start of the other arm left, that it does not start from.
func (c *commanded) gate(cause error) string {
	by := c.grounds.broken[c.where()]
	switch by {
	case "":
		c.grounds.broken[c.where()] = c.key
	case c.key:
	default:
		c.grounds.broken[c.where()] = several
	}
	if errors.Is(cause, target.ErrStart) && (!c.Resets() || c.grounds.restored[c.where()]) && (by == "" || by == c.key) {
		return record.StartGate
	}
	return record.DeployGate
}

// unreset is the rest of prepare for a target without a reset: users are made where another version was installed.
func (s *Session) unreset(ctx context.Context, sys *System, fresh bool) error {
	c := sys.commanded
	if c.verify.Counts() {
		if _, err := s.checkObjects(ctx, sys); err != nil {
			return err
		}
	}
	if fresh || !c.provisioned {
		if err := c.provision(ctx); err != nil {
			return fmt.Errorf("provisioning: %w", err)
		}
		c.provisioned = true
	}
	return nil
}

// asked returns the environment in which the server is asked about itself.
func (s *Session) asked(sys *System) workload.Env { return sys.env(s.Plan, sys.Deployment) }

// askTimeout bounds the questions to a server before a run: its statistics count all posts.
const askTimeout = 2 * time.Minute

// checkRelease compares the version that each server reports with that of the arm.
func (s *Session) checkRelease(ctx context.Context, sys *System) error {
	c := sys.commanded
	if c.want == "" {
		return nil
	}
	within, cancel := context.WithTimeoutCause(ctx, askTimeout, fmt.Errorf("no answer within %v", askTimeout))
	defer cancel()
	for _, at := range c.URLs() { // one of several may be an old one
		env := s.asked(sys)
		env.URL = at
		names, err := s.Dialects.OfPlan(s.Plan).Release(within, env)
		if err != nil {
			return fmt.Errorf("asking the server at %s for its version: %w", at, err)
		}
		found, err := releaseOf(c.want, names, at)
		c.Found(found)
		if err != nil {
			return err
		}
	}
	return nil
}

// releaseAt returns the number of the release that a server reports.
func (s *Session) releaseAt(ctx context.Context, at target.Endpoint) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, fmt.Errorf("no answer within %v", askTimeout))
	defer cancel()
	env := workload.Env{URL: at.URL(), URLs: at.URLs(), Secrets: s.Secrets, Timeout: opTimeout}
	names, err := s.Dialects.OfPlan(s.Plan).Release(ctx, env)
	if err != nil {
		return "", fmt.Errorf("reading the version of the server: %w", err)
	}
	return named("", names), nil
}

// releaseOf returns the name that a version is known by, and an error unless it is the one that the plan wants.
func releaseOf(want string, names []string, at string) (found string, err error) {
	early := candidate(want, names)
	if early != "" || !slices.ContainsFunc(names, func(has string) bool { return isRelease(want, has) }) {
		err = fmt.Errorf("the server at %s reports the version %s, and the arm is %s: let target.install put that version there and wait for it, or write target.verify.version: none",
			at, cmp.Or(strings.Join(names, ", "), "of no name"), want)
	}
	return cmp.Or(early, named(want, names)), err
}

// named returns the name that a version is known by: the one that is what the plan wants, else the first.
func named(want string, names []string) string {
	for _, has := range names {
		if isRelease(want, has) {
			return has
		}
	}
	return strings.Join(names[:min(len(names), 1)], "")
}

// earlyRE is the beginning of a suffix that a version has before it is released.
var earlyRE = regexp.MustCompile(`^(?i:rc|alpha|beta|pre|dev|snapshot)`)

// candidate returns the name that shows that a server runs a version from before the release that the plan wants, whose
// number it may report beside it: 11.1.0-rc2 where want is 11.1. It is empty if there is none.
func candidate(want string, names []string) string {
	for _, has := range names {
		if number, suffix, _ := strings.Cut(has, "-"); has != want && earlyRE.MatchString(suffix) && isRelease(want, number) {
			return has
		}
	}
	return ""
}

// isRelease reports whether a server that reports has runs the version want: the same text, the beginning of a commit
// of seven digits or more, or the same numbers as far as want has them with the same suffix, so that 11.1-rc2 is
// 11.1.0-rc2 and 11.1 is 11.1.4.
func isRelease(want, has string) bool {
	want, has = strings.TrimPrefix(want, "v"), strings.TrimPrefix(has, "v")
	if want == has || len(want) >= 7 && len(has) == 40 && strings.HasPrefix(has, want) {
		return true
	}
	wantNumbers, wantSuffix, _ := strings.Cut(want, "-")
	hasNumbers, hasSuffix, _ := strings.Cut(has, "-")
	if wantSuffix != hasSuffix {
		return false
	}
	w, h := strings.Split(wantNumbers, "."), strings.Split(hasNumbers, ".")
	for i, part := range w {
		if _, err := strconv.Atoi(part); err != nil || i >= len(h) || h[i] != part {
			return false
		}
	}
	return len(w) > 1
}

// checkObjects counts the server's objects and compares them with those that the plan expects, or that the first run
// found. Nothing is compared, and the result is nil, where the plan verifies no count.
func (s *Session) checkObjects(ctx context.Context, sys *System) (map[string]int64, error) {
	c := sys.commanded
	if !c.verify.Counts() {
		c.Note(stateFact, "not checked")
		return nil, nil
	}
	there, err := s.objects(ctx, sys)
	if err != nil {
		return nil, err
	}
	first := c.grounds.first[c.engine]
	var wrong []string
	for _, name := range objectNames {
		x := c.verify.Expected()[name]
		n, want, whose := there[name], x.N, "the plan expects"
		if x.Kind == plan.Same {
			if first == nil {
				continue
			}
			want, whose = first[name], "the first run found"
		}
		if x.Checked() && (n-want > x.Within || want-n > x.Within) {
			wrong = append(wrong, fmt.Sprintf("%d %s, where %s %d ±%d", n, name, whose, want, x.Within))
		}
	}
	if len(wrong) > 0 {
		when, command := "after the reset", "target.reset"
		if !c.Resets() {
			when, command = "before the run", "target.install"
		}
		return nil, fmt.Errorf("%s the server at %s has %s: runs would not begin with the same state; mend %s, or accept a difference in target.verify", when, c.URL(), strings.Join(wrong, ", "), command)
	}
	if first == nil {
		c.grounds.first[c.engine] = there
	}
	checked := maps.Clone(there)
	maps.DeleteFunc(checked, func(name string, _ int64) bool { return !c.verify.Expected()[name].Checked() })
	c.Note(stateFact, objectsText(checked))
	return there, nil
}

// objects asks the server for its counts.
func (s *Session) objects(ctx context.Context, sys *System) (map[string]int64, error) {
	s.Progress.Doing("verifying", 0)
	within, cancel := context.WithTimeoutCause(ctx, askTimeout, fmt.Errorf("no answer within %v", askTimeout))
	defer cancel()
	there, err := s.Dialects.OfPlan(s.Plan).Objects(within, s.asked(sys))
	if err != nil {
		return nil, fmt.Errorf("counting what the server has: %w", err)
	}
	return there, nil
}

// noteUsers notes whether the users have survived the reset, of which the server had these objects before they were
// provisioned.
func (s *Session) noteUsers(ctx context.Context, sys *System, before map[string]int64) error {
	c := sys.commanded
	if before == nil {
		c.Note(usersFact, "not known: nothing was counted")
		return nil
	}
	after, err := s.objects(ctx, sys)
	if err != nil {
		return err
	}
	text := "survive the reset"
	if made := after["users"] - before["users"]; made > 0 {
		text = fmt.Sprintf("made again after the reset (%d)", made)
	}
	c.Note(usersFact, text)
	return nil
}

// objectsText is the counts that are there in words, such as "40 users, 12 channels, 0 posts".
func objectsText(n map[string]int64) string {
	var parts []string
	for _, name := range objectNames {
		if _, counted := n[name]; counted {
			parts = append(parts, fmt.Sprintf("%d %s", n[name], name))
		}
	}
	return strings.Join(parts, ", ")
}

// readObjects is the inverse of objectsText; nil for another text.
func readObjects(text string) map[string]int64 {
	out := map[string]int64{}
	for part := range strings.SplitSeq(text, ", ") {
		number, name, _ := strings.Cut(part, " ")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || !slices.Contains(objectNames, name) {
			return nil
		}
		out[name] = n
	}
	return out
}

// undeployed leaves a sealed, void run of which the target was not as the plan wants it. The third in a row is returned
// with an error, which ends the comparison.
func (s *Session) undeployed(ctx context.Context, sys *System, pt RunPart, cause error, log []byte) (*record.Run, error) {
	c := sys.commanded
	c.grounds.Lock()
	defer c.grounds.Unlock()
	r, err := s.stillborn(ctx, sys, pt, c.gate(cause), cause, log)
	if n := c.grounds.fail(c.key); err == nil && n >= mostUndeployed {
		err = fmt.Errorf("%d runs in a row had no target as the plan wants it: mend what the last one reports, and go on with compare -resume: %w", n, cause)
	}
	return r, err
}

// writeCommands puts the output of the commands beside the records of a run.
func writeCommands(dir string, log []byte) error {
	if len(log) == 0 {
		return nil
	}
	if err := os.WriteFile(filepath.Join(dir, commandsFile), log, 0o600); err != nil {
		return fmt.Errorf("writing the output of the commands: %w", err)
	}
	return nil
}

// recallFirst takes what the first run found from the runs before a comparison was cut.
func (g *grounds) recallFirst(engine string, d target.Description) {
	if found := readObjects(d.Settings[stateFact]); found != nil && g.first[engine] == nil {
		g.first[engine] = maps.Clone(found)
	}
}

// An excerpt keeps the beginning and the end of what is written to it.
type excerpt struct {
	head, tail []byte
	lost       int
}

// Write implements io.Writer.
func (e *excerpt) Write(p []byte) (int, error) {
	n := min(len(p), mostCommandLog/2-len(e.head))
	e.head = append(e.head, p[:n]...)
	e.tail = append(e.tail, p[n:]...)
	if over := len(e.tail) - mostCommandLog/2; over > 0 {
		e.tail = e.tail[:copy(e.tail, e.tail[over:])]
		e.lost += over
	}
	return len(p), nil
}

func (e *excerpt) bytes() []byte {
	out := slices.Clone(e.head)
	if e.lost > 0 {
		out = fmt.Appendf(out, "\n# %d bytes are left out here\n", e.lost)
	}
	return append(out, e.tail...)
}
