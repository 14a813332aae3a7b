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

	"plimsoll/lab"
)

// ErrNotUp is what Load and Down return when a directory holds no running target's state file.
var ErrNotUp = errors.New("no target is up here")

// stateFile is the name of the state file in a target's directory.
const stateFile = "target.json"

// ownerGrace is how long an owner may take to stop its target before it is killed.
const ownerGrace = 12 * time.Second

// A State is what a state file says about a deployed target, so that another program can find it and stop
// it. It holds no secrets.
type State struct {
	Description Description               `json:"description"`
	URLs        []string                  `json:"urls"`
	MetricsURLs []string                  `json:"metrics,omitempty"`
	Ready       []string                  `json:"ready"`     // one URL per instance, see Ready
	Started     time.Time                 `json:"started"`   // when the file was written
	Owner       lab.Identity              `json:"owner"`     // the program that deployed it and supervises it
	Processes   map[string][]lab.Identity `json:"processes"` // by role
}

// Save writes the state file of a deployment into dir; this program is its owner. ready is the Spec's URL or
// path; references to secrets in it stay references, which who asks [State.Status] resolves. It is to be written anew after a Reset, which changes the processes.
func Save(dir string, dep Deployment, ready string, now time.Time) error {
	owner, err := lab.Identify(os.Getpid())
	if err != nil {
		return fmt.Errorf("saving the target's state: %w", err)
	}
	s := State{
		Description: dep.Describe(), URLs: dep.URLs(), Started: now.UTC(), Owner: owner,
		Processes: map[string][]lab.Identity{},
	}
	for _, u := range dep.MetricsURLs() {
		s.MetricsURLs = append(s.MetricsURLs, Shown(u))
	}
	if ready == "" {
		ready = "/"
	}
	for _, u := range s.URLs {
		s.Ready = append(s.Ready, Join(u, ready))
	}
	for role, pids := range dep.PIDs() {
		for _, pid := range pids {
			id, err := lab.Identify(pid)
			if err != nil {
				return fmt.Errorf("saving the target's state: %w", err)
			}
			s.Processes[role] = append(s.Processes[role], id)
		}
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("saving the target's state: %w", err)
	}
	// Written beside and renamed: a reader sees the old state or the new one.
	tmp := filepath.Join(dir, stateFile+".new")
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("saving the target's state: %w", err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, stateFile)); err != nil {
		return fmt.Errorf("saving the target's state: %w", err)
	}
	return nil
}

// Load reads the state file in dir. Without one it returns ErrNotUp.
func Load(dir string) (State, error) {
	b, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, os.ErrNotExist) {
		return State{}, fmt.Errorf("%s: %w", dir, ErrNotUp)
	}
	if err != nil {
		return State{}, fmt.Errorf("reading the target's state: %w", err)
	}
	var s State
	if err := json.Unmarshal(b, &s); err != nil {
		return State{}, fmt.Errorf("reading the target's state: %s: %w", filepath.Join(dir, stateFile), err)
	}
	return s, nil
}

// Forget removes the state file in dir; its owner calls it after Stop. No file is no error.
func Forget(dir string) error {
	if err := os.Remove(filepath.Join(dir, stateFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the target's state: %w", err)
	}
	return nil
}

// A Status is how a target does right now.
type Status struct {
	Owned bool             `json:"owned"` // the program that deployed it still runs
	Ready bool             `json:"ready"` // all instances answer with a status of the 200s
	Why   string           `json:"why"`   // what the first instance that is not ready says; empty when Ready
	PIDs  map[string][]int `json:"pids"`  // processes that still run, by role
}

// Status looks at the owner and the processes, and asks every instance once, for at most 2 seconds each.
func (s State) Status(ctx context.Context) Status {
	st := Status{Owned: s.Owner.Alive(), Ready: len(s.Ready) > 0, PIDs: map[string][]int{}}
	for role, ids := range s.Processes {
		for _, id := range ids {
			if id.Alive() {
				st.PIDs[role] = append(st.PIDs[role], id.PID)
			}
		}
	}
	for _, url := range s.Ready {
		if err := Ready(ctx, url); err != nil {
			st.Ready, st.Why = false, err.Error()
			break
		}
	}
	return st
}

// Down stops the target whose state file is in dir and removes the file: it asks the owner to end, which
// stops its target; kills the owner after 12 seconds, or at once when ctx ends; and then ends what is left
// of the target. It must not be called by the owner itself.
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
