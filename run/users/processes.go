package users

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/target/lab"
)

// stopTime bounds the end of the processes with users that this one has started.
const stopTime = 10 * time.Second

// processes are processes of this host with users, each with a link to it.
type processes struct {
	links    []io.ReadWriteCloser
	children []*lab.Process
	say      func(string, ...any)
}

// launch starts n processes with users on cores of this host; on all cores if cores is empty.
func launch(ctx context.Context, n int, cores []int, say func(string, ...any)) (*processes, error) {
	exe, err := lab.OwnProgram()
	if err != nil {
		return nil, err
	}
	p := &processes{say: say}
	for k := range n {
		if err := p.start(ctx, exe, k, cores); err != nil {
			closeLinks(p.links)
			p.stop()
			return nil, err
		}
	}
	return p, nil
}

// start starts a program as agent k.
func (p *processes) start(ctx context.Context, exe string, k int, cores []int) error {
	childIn, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return errors.Join(err, childIn.Close(), in.Close())
	}
	child, err := lab.Start(ctx, lab.Spec{
		Name: fmt.Sprintf("agent %d", k), Path: exe, Args: []string{"agent", "-stdio"},
		Stdin: childIn, Stdout: childOut, CPUs: cores,
	})
	err = errors.Join(err, childIn.Close(), childOut.Close())
	if err != nil {
		return errors.Join(err, in.Close(), out.Close())
	}
	p.children = append(p.children, child)
	p.links = append(p.links, pipe{in, out})
	return nil
}

// stop stops the processes, whose links are closed.
func (p *processes) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	for _, child := range p.children {
		if err := child.Stop(ctx); err != nil {
			p.say("agent: %v", err)
		}
	}
}

// tails joins the last words of the processes to an error.
func (p *processes) tails(err error) error {
	if p == nil {
		return err
	}
	all := []error{err}
	for k, child := range p.children {
		if t := child.Tail(); t != "" {
			all = append(all, fmt.Errorf("agent %d ended%w", k, plain.Output(t)))
		}
	}
	return errors.Join(all...)
}

func closeLinks(links []io.ReadWriteCloser) {
	for _, l := range links {
		_ = l.Close() // by this an agent knows that it is alone
	}
}

// A pipe is both standard streams of a child.
type pipe struct {
	in  *os.File // from us
	out *os.File // to us
}

func (p pipe) Write(b []byte) (int, error) { return p.in.Write(b) }
func (p pipe) Read(b []byte) (int, error)  { return p.out.Read(b) }
func (p pipe) Close() error                { return errors.Join(p.in.Close(), p.out.Close()) }
