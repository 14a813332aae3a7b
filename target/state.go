package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"plimsoll/internal/files"
	"plimsoll/target/lab"
)

// ErrNotUp is returned by Load and Down when a directory holds no running target's state file.
var ErrNotUp = errors.New("no target is up here")

// ErrUp is returned by Free and Save where another program has a target up.
var ErrUp = errors.New("another program has a target up here")

// stateFile is the name of the state file in a target's directory.
const stateFile = "target.json"

// ownerGrace is the time that an owner has to stop its target before it is killed.
const ownerGrace = 12 * time.Second

// A StateFile is the content of a state file about a deployed target, so that another program can
// find it and stop it. It holds no secrets.
type StateFile struct {
	Description Description `json:"description"`
	URLs        []string    `json:"urls"`
	MetricsURLs []string    `json:"metrics,omitempty"`
	Ready       []string    `json:"ready"`   // one URL per instance, see Ready
	Started     time.Time   `json:"started"` // when the file was written
	// the program that deployed it and supervises it
	Owner lab.Identity `json:"owner"`
	// the owner's network namespace, in which the URLs are: see Away
	Network   string                    `json:"network"`
	Processes map[string][]lab.Identity `json:"processes"` // by role
}

// Free returns an error that wraps ErrUp if dir holds the state file of a target whose owner,
// another program, still runs.
func Free(dir string) error {
	s, err := Load(dir)
	// a file that cannot be read finds no target
	if err != nil || s.Owner.PID == os.Getpid() || !s.Owner.Alive() {
		return nil
	}
	return fmt.Errorf(
		"%s: %w, process %d; stop that one, or use another store",
		dir,
		ErrUp,
		s.Owner.PID,
	)
}

// Save writes the state file of a deployment into dir, which is made when it is missing; this
// program is its owner. The file of another owner's running target stays, see [Free]. ready is the
// Spec's URL or path; references to secrets in it stay references, which the caller of
// [StateFile.Status] resolves. It must be written again after a Reset, which changes the processes.
func Save(dir string, dep Deployment, ready string, now time.Time) error {
	if err := Free(dir); err != nil {
		return err
	}
	s, err := stateOf(dep, ready, now)
	if err != nil {
		return fmt.Errorf("saving the target's state: %w", err)
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("saving the target's state: %w", err)
	}
	if err := lab.MkdirState(dir); err != nil {
		return err
	}
	if err := files.Replace(files.OS{}, filepath.Join(dir, stateFile), append(b, '\n')); err != nil {
		return fmt.Errorf("saving the target's state: %w", err)
	}
	return nil
}

// stateOf describes a deployment of this program.
func stateOf(dep Deployment, ready string, now time.Time) (s StateFile, err error) {
	owner, err := lab.Identify(os.Getpid())
	if err != nil {
		return s, err
	}
	network, err := ownNetwork()
	if err != nil {
		return s, err
	}
	s = StateFile{
		Description: dep.Describe(),
		URLs:        dep.URLs(),
		Started:     now.UTC(),
		Owner:       owner,
		Network:     network,
		Processes:   map[string][]lab.Identity{},
	}
	for _, u := range dep.MetricsURLs() {
		s.MetricsURLs = append(s.MetricsURLs, Shown(u))
	}
	if ready == "" {
		ready = "/"
	}
	// A deployment that has variables fills them in.
	if d, ok := dep.(interface{ ReadyURLs(ref string) []string }); ok {
		s.Ready = d.ReadyURLs(ready)
	} else {
		for _, u := range s.URLs {
			s.Ready = append(s.Ready, Join(u, ready))
		}
	}
	for role, pids := range dep.PIDs() {
		for _, pid := range pids {
			id, err := lab.Identify(pid)
			if err != nil {
				return s, err
			}
			s.Processes[role] = append(s.Processes[role], id)
		}
	}
	return s, nil
}

// Load reads the state file in dir. Without one it returns ErrNotUp.
func Load(dir string) (StateFile, error) {
	b, err := files.Read(filepath.Join(dir, stateFile), 0)
	if errors.Is(err, os.ErrNotExist) {
		return StateFile{}, fmt.Errorf("%s: %w", dir, ErrNotUp)
	}
	if err != nil {
		return StateFile{}, fmt.Errorf("reading the target's state: %w", err)
	}
	var s StateFile
	if err := json.Unmarshal(b, &s); err != nil {
		return StateFile{}, fmt.Errorf(
			"reading the target's state: %s: %w",
			filepath.Join(dir, stateFile),
			err,
		)
	}
	if s.Network == "" && s.Owner.Alive() { // an older version wrote it
		s.Network, _ = os.Readlink(fmt.Sprintf("/proc/%d/ns/net", s.Owner.PID)) // unknown is Away
	}
	return s, nil
}

// Forget removes the state file in dir; its owner calls it after Stop. A missing file is not an
// error.
func Forget(dir string) error {
	if err := os.Remove(filepath.Join(dir, stateFile)); err != nil &&
		!errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the target's state: %w", err)
	}
	return nil
}

// ownNetwork names the network namespace of this program.
func ownNetwork() (string, error) { return os.Readlink("/proc/self/ns/net") }

// Away reports whether the target is in another network namespace than this program, so that its
// URLs lead elsewhere from here.
func (s StateFile) Away() bool {
	own, err := ownNetwork()
	return err != nil || s.Network != own
}

// A Status is the present state of a target.
type Status struct {
	Owned bool `json:"owned"` // the program that deployed it still runs
	Ready bool `json:"ready"` // all instances answer with a status of the 200s
	// answer of the first instance that is not ready; empty when Ready
	Why  string           `json:"why"`
	PIDs map[string][]int `json:"pids"` // processes that still run, by role
}

// Status looks at the owner and the processes, and requests every instance once, for at most 2
// seconds each, over connections of dial. A nil dial is those of this program's network; a target
// that is [StateFile.Away] gets no request then.
func (s StateFile) Status(ctx context.Context, dial Dial) Status {
	st := Status{Owned: s.Owner.Alive(), Ready: len(s.Ready) > 0, PIDs: map[string][]int{}}
	for role, ids := range s.Processes {
		for _, id := range ids {
			if id.Alive() {
				st.PIDs[role] = append(st.PIDs[role], id.PID)
			}
		}
	}
	if dial == nil && s.Away() {
		st.Ready, st.Why = false, "it is in another network than this program, which does not reach it"
		return st
	}
	for _, url := range s.Ready {
		if err := readyBy(ctx, url, dial); err != nil {
			st.Ready, st.Why = false, err.Error()
			break
		}
	}
	return st
}

// Down stops the target whose state file is in dir and removes the file: it signals the owner to
// end, which stops its target; kills the owner after 12 seconds, or at once when ctx ends; and then
// ends the remaining processes of the target. It must not be called by the owner itself.
func Down(ctx context.Context, dir string) error {
	s, err := Load(dir)
	if err != nil {
		return err
	}
	if s.Owner.PID == os.Getpid() {
		return errors.New("stopping the target: this program deployed it and must stop it itself")
	}
	if err := s.Owner.Terminate(ctx, syscall.SIGTERM, ownerGrace); err != nil {
		return fmt.Errorf("stopping the target: %w", err)
	}
	for _, role := range slices.Sorted(maps.Keys(s.Processes)) { // "app" before "db"
		for _, id := range s.Processes[role] {
			if err := id.Terminate(ctx, syscall.SIGTERM, 3*time.Second); err != nil {
				return fmt.Errorf("stopping the target's %s: %w", role, err)
			}
		}
	}
	return Forget(dir)
}
