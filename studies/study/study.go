// Package study is what the programs of this module share: how one begins and ends, the pages and
// files in which it keeps its results, the host it runs on, and a laboratory of network namespaces.
// It knows nothing of any study.
package study

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"plimsoll/target/lab"
)

// Results is the directory of the pages and files of all studies, below the root of the repository.
const Results = "studies/results"

// Main runs a program until it ends by itself, or by SIGINT or SIGTERM. Its error goes to stderr,
// and is exit status 1.
func Main(run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		}
		os.Exit(1)
	}
}

// Parse parses flags; a program without arguments refuses them.
func Parse(fs *flag.FlagSet, args []string) error {
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("%q: there are no arguments", fs.Arg(0))
	}
	return nil
}

// Absolute makes paths independent of the working directory; those that are empty stay so.
func Absolute(paths ...*string) (err error) {
	for _, p := range paths {
		if *p == "" {
			continue
		}
		if *p, err = filepath.Abs(*p); err != nil {
			return err
		}
	}
	return nil
}

// Built makes the path of a program of ours independent of the working directory, and fails where
// it was not built.
func Built(program *string) error {
	if err := Absolute(program); err != nil {
		return err
	}
	if _, err := os.Stat(*program); err != nil {
		return fmt.Errorf("%w; run make build first", err)
	}
	return nil
}

// Pause waits for d, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Fetch returns the body of a page, at most 8 MiB. Any status but 200 is an error.
func Fetch(ctx context.Context, c *http.Client, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d", url, resp.StatusCode)
	}
	return b, err
}

// Listening returns the address that a server prints behind " on " when it is ready.
func Listening(ctx context.Context, p *lab.Process) (string, error) {
	if err := p.Says(ctx, " on ", 20*time.Second); err != nil {
		return "", err
	}
	_, at, _ := strings.Cut(p.Tail(), " on ")
	at, _, _ = strings.Cut(at, "\n")
	return strings.TrimSpace(at), nil
}

// Serving starts a server that prints its address behind " on " when it is ready. One that does not
// become ready is killed.
func Serving(ctx context.Context, spec lab.Spec) (p *lab.Process, address string, err error) {
	if p, err = lab.Start(ctx, spec); err != nil {
		return nil, "", err
	}
	if address, err = Listening(ctx, p); err != nil {
		err = errors.Join(err, p.Kill())
	}
	return p, address, err
}

// OneLine joins the lines of a text, and cuts it after 400 bytes.
func OneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return text[:min(len(text), 400)]
}
