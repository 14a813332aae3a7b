package study

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"plimsoll/target/lab"
)

// A Link carries what a process reads from its standard input and writes to its standard output.
type Link struct{ in, out *os.File }

func (l Link) Write(b []byte) (int, error) { return l.in.Write(b) }
func (l Link) Read(b []byte) (int, error)  { return l.out.Read(b) }

// Close closes both: by this the process knows that it is alone.
func (l Link) Close() error { return errors.Join(l.in.Close(), l.out.Close()) }

// A Starter starts a process, as [lab.Start] does.
type Starter func(context.Context, lab.Spec) (*lab.Process, error)

// StartLinked starts a process with a link in the place of its standard streams.
func StartLinked(ctx context.Context, start Starter, spec lab.Spec) (*lab.Process, Link, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, Link{}, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, Link{}, errors.Join(err, childIn.Close(), in.Close())
	}
	spec.Stdin, spec.Stdout = childIn, childOut
	p, err := start(ctx, spec)
	l := Link{in, out}
	if err = errors.Join(err, childIn.Close(), childOut.Close()); err != nil {
		return p, l, errors.Join(err, l.Close())
	}
	return p, l, nil
}

// A Counted link adds up the bytes that it carries.
type Counted struct {
	io.ReadWriteCloser
	Sent, Received *atomic.Int64
}

func (c Counted) Write(b []byte) (int, error) {
	n, err := c.ReadWriteCloser.Write(b)
	c.Sent.Add(int64(n))
	return n, err
}

func (c Counted) Read(b []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(b)
	c.Received.Add(int64(n))
	return n, err
}
