package lab

import (
	"fmt"
	"os"
)

// RunningProgram leads to the file of this program, also when another has taken its place.
const RunningProgram = "/proc/self/exe"

// Executable returns the path of this program's file, which may be another program's by now.
func Executable() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	return exe, nil
}

// OwnProgram returns the file to start this program by. A new build that has taken the file's place
// meanwhile is another program: a run, or a comparison, would be of two.
func OwnProgram() (string, error) {
	exe, err := Executable()
	if err != nil {
		return "", err
	}
	return unlessReplaced(exe), nil
}

func unlessReplaced(exe string) string {
	is, err := os.Stat(RunningProgram)
	if err != nil {
		return exe
	}
	if at, err := os.Stat(exe); err != nil || !os.SameFile(is, at) {
		return RunningProgram
	}
	return exe
}
