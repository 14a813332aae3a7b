package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// noteFiles remembers the files of [Config].Files as they are now.
func (d *deployment) noteFiles() error {
	d.files = map[string]bool{}
	return d.eachFile(func(path string, _ fs.DirEntry) error {
		d.files[path] = true
		return nil
	})
}

// dropFiles removes the files of [Config].Files that were not there when they were noted.
func (d *deployment) dropFiles() error {
	return d.eachFile(func(path string, e fs.DirEntry) error {
		if d.files[path] {
			return nil
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}

// eachFile calls do with everything below the directories of [Config].Files. Links are not
// followed.
func (d *deployment) eachFile(do func(path string, e fs.DirEntry) error) error {
	for _, name := range d.conf.Files {
		root := filepath.Join(d.spec.Dir, name)
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || path == root {
				return err
			}
			return do(path, e)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a program that has made none yet
			return fmt.Errorf("files of the program: %w", err)
		}
	}
	return nil
}
