package console

import (
	"io/fs"
	"os"
	"sync"
)

// remembered keeps the values that were made of files as long as these are the same: of one path,
// inode, size and time. Beyond most values it drops the least recently used one. Its methods are
// safe for concurrent use.
type remembered[T any] struct {
	most int

	mu    sync.Mutex
	by    map[string]rememberedFile[T] // by path
	clock uint64                       // of uses
}

type rememberedFile[T any] struct {
	file  fs.FileInfo
	value T
	used  uint64
}

func newRemembered[T any](most int) *remembered[T] {
	return &remembered[T]{most: most, by: map[string]rememberedFile[T]{}}
}

// of returns the value of a file, which make makes of it. An error of make is not kept. Callers do
// not change the value.
func (c *remembered[T]) of(path string, make func() (T, error)) (v T, err error) {
	fi, err := os.Stat(path) // before it is read: a file that changes meanwhile is read again
	if err != nil {
		return v, err
	}
	c.mu.Lock()
	c.clock++
	k, ok := c.by[path]
	if ok && os.SameFile(k.file, fi) && k.file.Size() == fi.Size() &&
		k.file.ModTime().Equal(fi.ModTime()) {
		k.used = c.clock
		c.by[path] = k
		c.mu.Unlock()
		return k.value, nil
	}
	c.mu.Unlock()
	if v, err = make(); err != nil {
		return v, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by[path] = rememberedFile[T]{fi, v, c.clock}
	for len(c.by) > c.most {
		oldest := ""
		for p, k := range c.by {
			if oldest == "" || k.used < c.by[oldest].used {
				oldest = p
			}
		}
		delete(c.by, oldest)
	}
	return v, nil
}
