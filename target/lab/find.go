package lab

import (
	"os"
	"os/exec"
	"path/filepath"
)

// FindProgram returns the path of a program that is in PATH or in one of the directories, or "".
func FindProgram(name string, dirs ...string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, dir := range dirs {
		if path := filepath.Join(dir, name); IsFile(path) {
			return path
		}
	}
	return ""
}

// IsFile reports whether there is a file at a path, and neither a directory nor a device.
func IsFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}
