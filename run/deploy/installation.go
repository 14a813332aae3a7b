package deploy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"plimsoll/dialect"
	"plimsoll/plan"
	"plimsoll/target"
	"plimsoll/target/external"
)

// The names of facts in the description of a target.
const (
	stateFact = "state"             // the compared objects after the reset
	usersFact = "provisioned users" // whether the reset keeps them
)

// objectNames are the counts of a server's objects, in the order of texts.
var objectNames = []string{"users", "channels", "posts"}

// askTimeout bounds the requests to a server before a run: its statistics count all posts.
const askTimeout = 2 * time.Minute

// An Installation is a target that others run, which the plan's own commands install and reset
// before each run. All installations of one [Deployments] are prepared one after the other.
type Installation struct {
	*external.Site
	sys         *System
	key         string // arm and engine
	engine      string
	want        string // version of the arm; empty if it is not compared
	verify      plan.Verification
	dialect     *dialect.Dialect
	provision   func(ctx context.Context) error
	survey      func(ctx context.Context) error
	surveyed    bool
	provisioned bool // at least once
	ground      *ground
}

// A Preparation is a run that a target is prepared for.
type Preparation struct {
	Block, Run int           // number of the block, and of the run in it
	Length     time.Duration // of the run, for the progress; 0 if it is not known
	Progress   Progress
}

// installationOf returns the installation of a system; nil if the plan has no commands for its
// target and nothing to verify.
func (f *Deployments) installationOf(sys *System, t plan.Target, key, engine string,
	provision func(context.Context, target.Endpoint) error) (*Installation, error) {
	site, ok := sys.Deployment.(*external.Site)
	commands := len(t.Install) + len(t.Reset)
	if !ok || commands == 0 && t.Verify.Version != plan.FromAPI {
		return nil, nil
	}
	if err := site.LookUp(); err != nil {
		return nil, plan.UsageError{Err: err}
	}
	c := &Installation{
		Site:      site,
		sys:       sys,
		key:       key,
		engine:    engine,
		verify:    t.Verify,
		dialect:   f.Dialects.OfPlan(f.Plan),
		provision: func(ctx context.Context) error { return provision(ctx, site) },
		survey:    func(ctx context.Context) error { return f.Survey(ctx, sys) },
		ground:    f.ground,
	}
	if t.Verify.Version == plan.FromAPI {
		c.want = t.Version
	}
	if c.want != "" && (c.dialect == nil || c.dialect.Release == nil) {
		return nil, plan.Usagef("target.verify.version: this kind of server does not report " +
			"its version; write none")
	}
	if t.Verify.Counts() && (c.dialect == nil || c.dialect.Objects == nil) {
		return nil, plan.Usagef("target.verify: this kind of server does not report how many " +
			"users, channels and posts it has; write none for each of them")
	}
	return c, nil
}

// where names the addresses, which the target's arms may share.
func (c *Installation) where() string { return strings.Join(c.URLs(), " ") }

// Prepare brings the target into the state that the plan wants for a run, and checks it: the
// version is installed, the state put back, both are right, and the users are provisioned. It
// returns the output of the commands, also with an error. A [plan.UsageError], or an error with an
// ended context, is not a failure of the target.
func (c *Installation) Prepare(ctx context.Context, turn Preparation) (output []byte, err error) {
	c.ground.Lock()
	defer c.ground.Unlock()
	out := new(excerpt)
	command := external.Turn{Block: turn.Block, Run: turn.Run, Log: out}
	c.Note(stateFact, "")
	c.Note(usersFact, "")
	c.Count(nil)
	err = c.prepare(ctx, turn, command)
	return out.bytes(), err
}

func (c *Installation) prepare(ctx context.Context, turn Preparation, command external.Turn) error {
	fresh, err := c.install(ctx, turn, command)
	if err != nil {
		return err
	}
	if !c.Resets() {
		// What an arm before may have left, this one starts from.
		delete(c.ground.broken, c.where())
		if c.verify.Counts() {
			if _, err := c.checkObjects(ctx, turn.Progress); err != nil {
				return err
			}
		}
		if fresh {
			c.provisioned = false // of another version
		}
		return c.provisionOnce(ctx)
	}
	// Whether the reset keeps the users or not, all runs find the same.
	if err := c.provisionOnce(ctx); err != nil {
		return err
	}
	turn.Progress.Doing("resetting", turn.Length)
	if err := c.reset(ctx, command); err != nil {
		return err
	}
	// A reset that ends with another version, because it restores more than data, is found here.
	if err := c.CheckRelease(ctx); err != nil {
		return err
	}
	there, err := c.checkObjects(ctx, turn.Progress)
	if err != nil {
		return err
	}
	if err := c.provision(ctx); err != nil {
		return fmt.Errorf("provisioning after the reset: %w", err)
	}
	return c.noteUsers(ctx, turn.Progress, there)
}

// install installs the arm unless it was the last one to be installed there, and checks the
// version. fresh reports that it was installed.
func (c *Installation) install(ctx context.Context, turn Preparation,
	command external.Turn) (fresh bool, err error) {
	where := c.where()
	last, known := c.ground.standing[where]
	if c.Installs() && (!known || last != c.key) {
		turn.Progress.Doing("installing", turn.Length)
		delete(c.ground.standing, where)
		if err := c.Install(ctx, command); err != nil {
			return false, err
		}
		fresh = true
	}
	if !c.surveyed {
		if err := c.survey(ctx); err != nil {
			return false, err
		}
		c.surveyed = true
	}
	if err := c.CheckRelease(ctx); err != nil {
		return false, err
	}
	if fresh {
		c.ground.standing[where] = c.key
	}
	return fresh, nil
}

// provisionOnce provisions the users unless that was done.
func (c *Installation) provisionOnce(ctx context.Context) error {
	if c.provisioned {
		return nil
	}
	if err := c.provision(ctx); err != nil {
		return fmt.Errorf("provisioning: %w", err)
	}
	c.provisioned = true
	return nil
}

// reset puts the state back and notes whether it is back, also where the target does not start
// from it.
func (c *Installation) reset(ctx context.Context, command external.Turn) error {
	delete(c.ground.restored, c.where())
	err := c.ResetFor(ctx, command)
	if err == nil || errors.Is(err, target.ErrStart) {
		c.ground.restored[c.where()] = true
		delete(c.ground.broken, c.where())
	}
	return err
}

// Failed notes that the target of a run is not as the plan wants it, for a cause that
// [Installation.Prepare] or [Installation.CheckRelease] returned.
func (c *Installation) Failed(cause error) Blame {
	g := c.ground
	g.Lock()
	defer g.Unlock()
	at := c.where()
	by := g.broken[at]
	switch by {
	case "":
		g.broken[at] = c.key
	case c.key:
	default:
		g.broken[at] = several
	}
	putBack := !c.Resets() || g.restored[at]
	alone := by == "" || by == c.key
	g.failed[c.key]++
	g.failed[""]++
	return Blame{
		OfArm:  errors.Is(cause, target.ErrStart) && putBack && alone,
		InARow: max(g.failed[c.key], g.failed[""]),
	}
}

// Succeeded notes that a run begins on the target. It ends rows of failures.
func (c *Installation) Succeeded() {
	c.ground.Lock()
	defer c.ground.Unlock()
	delete(c.ground.failed, c.key)
	delete(c.ground.failed, "")
}

// asking limits the time of a request to the server.
func asking(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, askTimeout, fmt.Errorf("no answer within %v", askTimeout))
}

// CheckRelease compares the version that each server reports with the arm's version. In a duet the
// caller repeats it when the targets of all arms are prepared: two addresses may lead to one
// server, where the last installation is everybody's.
func (c *Installation) CheckRelease(ctx context.Context) error {
	if c.want == "" {
		return nil
	}
	ctx, cancel := asking(ctx)
	defer cancel()
	for _, at := range c.URLs() { // one of several may be an old one
		env := c.sys.Env()
		env.URL = at
		names, err := c.dialect.Release(ctx, env)
		if err != nil {
			return fmt.Errorf("asking the server at %s for its version: %w", at, err)
		}
		found, err := ReleaseOf(c.want, names, at)
		c.Found(found)
		if err != nil {
			return err
		}
	}
	return nil
}

// objects returns the server's counts of its objects.
func (c *Installation) objects(ctx context.Context, show Progress) (map[string]int64, error) {
	show.Doing("verifying", 0)
	ctx, cancel := asking(ctx)
	defer cancel()
	there, err := c.dialect.Objects(ctx, c.sys.Env())
	if err != nil {
		return nil, fmt.Errorf("counting what the server has: %w", err)
	}
	return there, nil
}

// checkObjects counts the server's objects and compares the counts with the plan's, or with the
// counts of the first run. Nothing is compared, and the result is nil, where the plan verifies no
// count.
func (c *Installation) checkObjects(ctx context.Context,
	show Progress) (map[string]int64, error) {
	if !c.verify.Counts() {
		c.Note(stateFact, "not checked")
		return nil, nil
	}
	there, err := c.objects(ctx, show)
	if err != nil {
		return nil, err
	}
	if wrong := c.unexpected(there); len(wrong) > 0 {
		when, command := "after the reset", "target.reset"
		if !c.Resets() {
			when, command = "before the run", "target.install"
		}
		return nil, fmt.Errorf("%s the server at %s has %s: runs would not begin with the same "+
			"state; mend %s, or accept a difference in target.verify",
			when, c.URL(), strings.Join(wrong, ", "), command)
	}
	if c.ground.first[c.engine] == nil {
		c.ground.first[c.engine] = there
	}
	checked := maps.Clone(there)
	maps.DeleteFunc(checked, func(name string, _ int64) bool {
		return !c.verify.Expected()[name].Checked()
	})
	c.Note(stateFact, objectsText(checked))
	c.Count(checked)
	return there, nil
}

// unexpected describes the counts that are not as they should be.
func (c *Installation) unexpected(there map[string]int64) (wrong []string) {
	first := c.ground.first[c.engine]
	for _, name := range objectNames {
		x := c.verify.Expected()[name]
		n := there[name]
		want := x.N
		whose := "the plan expects"
		if x.Kind == plan.Same {
			if first == nil {
				continue
			}
			want, whose = first[name], "the first run found"
		}
		if x.Checked() && (n-want > x.Within || want-n > x.Within) {
			wrong = append(wrong, fmt.Sprintf("%d %s, where %s %d ±%d",
				n, name, whose, want, x.Within))
		}
	}
	return wrong
}

// noteUsers notes whether the users have survived the reset. before are the objects before they
// were provisioned; nil if nothing was counted.
func (c *Installation) noteUsers(ctx context.Context, show Progress,
	before map[string]int64) error {
	if before == nil {
		c.Note(usersFact, "not known: nothing was counted")
		return nil
	}
	after, err := c.objects(ctx, show)
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

// objectsText writes the known counts, such as "40 users, 12 channels, 0 posts".
func objectsText(n map[string]int64) string {
	var parts []string
	for _, name := range objectNames {
		if _, counted := n[name]; counted {
			parts = append(parts, fmt.Sprintf("%d %s", n[name], name))
		}
	}
	return strings.Join(parts, ", ")
}
