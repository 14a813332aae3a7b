package deploy

import (
	"maps"
	"sync"

	"plimsoll/target"
)

// A ground is the common knowledge of all systems about targets that others run. Systems whose
// servers have the same addresses are arms of one target, one of which is installed there at a
// time. Who reads or writes a field holds the lock: the runs of a duet are prepared one after the
// other.
type ground struct {
	sync.Mutex
	standing map[string]string           // by addresses, the arm and engine installed last
	restored map[string]bool             // by addresses, whether the last reset ended well
	broken   map[string]string           // by addresses, the arm and engine that failed there
	first    map[string]map[string]int64 // by engine, the objects that the first run found
	failed   map[string]int              // by arm and engine, failed runs in a row; "" for all
}

func newGround() *ground {
	return &ground{
		standing: map[string]string{},
		restored: map[string]bool{},
		broken:   map[string]string{},
		first:    map[string]map[string]int64{},
		failed:   map[string]int{},
	}
}

// several stands for the arm where more than one has failed: no arm has a name with a space.
const several = "several arms"

// A Blame describes a target that could not be brought into the state that the plan wants.
type Blame struct {
	// OfArm is true if the target does not start, and the arm is to blame: the state of the target
	// was put back before, and no other arm has failed there since. Otherwise the cause may be a
	// failed reset, or the remains of a broken installation or start of another arm.
	OfArm bool
	// InARow counts the runs that ended so without a prepared one between them: of the arm, or
	// of all arms if these are more.
	InARow int
}

// Recall takes the objects that the first run on an engine found from the description of a run
// that was made before a comparison was cut.
func (f *Deployments) Recall(engine string, d target.Description) {
	f.ground.Lock()
	defer f.ground.Unlock()
	if d.Objects != nil && f.ground.first[engine] == nil {
		f.ground.first[engine] = maps.Clone(d.Objects)
	}
}
