// Command manual writes the man pages of plimsoll, and its completions for bash, zsh and fish.
//
//	go run ./cmd/manual PROGRAM DIRECTORY
//
// It reads the help of the program, which prints the table of the verbs. So its output is never
// older than the program, and is not in the repository: scripts/release.sh makes it for each
// release. It makes the pages of a program with further verbs, such as newsfeed's, in the same way.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: manual PROGRAM DIRECTORY")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := write(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "manual: %v\n", err)
		os.Exit(1)
	}
}

// write puts the pages of a program into dir/man and its completions into dir/completions.
func write(ctx context.Context, program, dir string) error {
	p, err := read(ctx, program)
	if err != nil {
		return err
	}
	texts := map[string]string{
		"man/plimsoll.1":            p.page(),
		"completions/plimsoll":      p.bash(),
		"completions/_plimsoll":     p.zsh(),
		"completions/plimsoll.fish": p.fish(),
	}
	for _, v := range p.verbs {
		texts["man/plimsoll-"+v.name+".1"] = p.verbPage(v)
	}
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
