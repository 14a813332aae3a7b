package container

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// makeRoot makes a root file system of a program and the files that its loader needs, if it has
// one, with empty places for mounts. It returns the program's path inside.
func makeRoot(root, program string, mounts ...string) (string, error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("making a root file system for %s: %w", filepath.Base(program), err)
	}
	if err := os.RemoveAll(root); err != nil {
		return fail(err)
	}
	for _, dir := range append([]string{"bin", "dev", "proc", "sys", "tmp"}, mounts...) {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return fail(err)
		}
	}
	inside := "/bin/" + filepath.Base(program)
	if err := place(filepath.Join(root, inside), program); err != nil {
		return fail(err)
	}
	libs, err := libraries(program)
	if err != nil {
		return fail(err)
	}
	for _, lib := range libs {
		if err := place(filepath.Join(root, lib), lib); err != nil {
			return fail(err)
		}
	}
	return inside, nil
}

// libraries returns the loader of a program and the shared libraries that it loads; none for a
// static program.
func libraries(program string) ([]string, error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, fmt.Errorf("only programs go into a container: %w", err)
	}
	defer f.Close()
	loader := ""
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(p.Open(), 4096))
		if err != nil {
			return nil, fmt.Errorf("reading the name of its loader: %w", err)
		}
		loader = strings.TrimRight(string(b), "\x00")
	}
	if loader == "" {
		return nil, nil
	}
	// ends by itself: it maps files and prints
	out, err := exec.Command(loader, "--list", program).Output()
	if err != nil {
		return nil, fmt.Errorf("asking %s for the libraries: %w", loader, err)
	}
	libs := []string{loader}
	for line := range strings.Lines(string(out)) {
		// libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x...), or without an arrow: the loader,
		// and the kernel's own library.
		_, path, ok := strings.Cut(line, "=> ")
		if !ok {
			continue
		}
		path, _, _ = strings.Cut(path, " (")
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("a library is missing: %s", strings.TrimSpace(line))
		}
		if path != loader {
			libs = append(libs, path)
		}
	}
	return libs, nil
}

// place makes dst the same file as src, or a copy where that cannot be.
func place(dst, src string) (err error) {
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	if src, err = filepath.EvalSymlinks(src); err != nil {
		return err
	}
	if os.Link(src, dst) == nil {
		return nil
	}
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(dst, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
