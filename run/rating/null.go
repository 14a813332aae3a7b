package rating

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"plimsoll/target/lab"
)

// A Null is the null server: this program, by a verb, in a separate process.
type Null struct {
	Verb string
	CPUs []int // of the target; none when it may use all
}

// Start starts the server and returns its address. The caller calls stop.
func (n Null) Start(ctx context.Context) (url string, stop func(), err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", nil, fmt.Errorf("finding this program: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return "", nil, err
	}
	defer r.Close()
	env := os.Environ()
	if len(n.CPUs) > 0 {
		env = append(env, fmt.Sprint("GOMAXPROCS=", len(n.CPUs)))
	}
	p, err := lab.Start(ctx, lab.Spec{
		Name: n.Verb, Path: exe, Args: []string{n.Verb, "-listen", "127.0.0.1:0"},
		Env: env, CPUs: n.CPUs, Stdout: w,
	})
	w.Close()
	if err != nil {
		return "", nil, err
	}
	stop = func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = p.Stop(ctx) // a child that does not end is killed with us
	}
	if err := r.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		stop()
		return "", nil, err
	}
	line, err := bufio.NewReader(r).ReadBytes('\n')
	_, at, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" on "))
	if err != nil || !ok {
		stop()
		return "", nil, errors.Join(
			fmt.Errorf("it does not say where it listens: %s", p.Tail()),
			err,
		)
	}
	return string(at), stop, nil
}
