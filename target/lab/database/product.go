package database

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"plimsoll/target/lab"
)

// A Product is a kind of database server: its names, statements and programs. All fields are
// required unless they say otherwise. Functions that connect do so as administrator, through the
// socket.
type Product struct {
	Title   string // for errors about the whole: "PostgreSQL", "a MySQL server"
	Replica string // the same for a replica: "a standby of PostgreSQL"
	Kind    string // of its log, such as [lab.KindMySQL]; journal and log are named by it
	User    string // of the system's package
	Mark    string // file that marks a finished data directory and names the programs that made it

	Create string // statement that makes a database, with %s for its quoted name
	Flush  string // statement that prepares a clean shutdown
	Quote  func(name string) string
	Drop   func(name string) []string // statements that drop a database if there is one

	// Orphans is a text in the output of a server that cannot start before the other processes of
	// one that died have ended. Empty means that there are none.
	Orphans string

	Stop os.Signal // requests a clean shutdown
	Quit bool      // see [lab.Spec]

	// Find returns the programs of the system's install, or obtains some.
	Find func(ctx context.Context) (Programs, error)
	// Fits returns an error unless the programs can use data of [Server.Export]. Nil means that the
	// server finds out.
	Fits func(ctx context.Context, data string) error
	// Init returns the command that makes the data directory.
	Init func(in *View) (lab.Spec, error)
	// Serve prepares the directories for a start, and returns the server's command.
	Serve func(in *View) (lab.Spec, error)
	// Arm connects, sets the clients' password and lets a replica follow. It waits for nothing.
	Arm func(ctx context.Context, in *View) error
	// Clear removes the remains of a server that ended, in its data directory. Nil means none.
	Clear func(data string) error

	DSN      func(in *View, db string) string
	Exec     func(ctx context.Context, in *View, statements ...string) error
	Analyze  func(ctx context.Context, in *View, db string) error
	Describe func(ctx context.Context, in *View) (lab.ProgramInfo, error)
	// Client returns the command that runs a script from its input in a database, once the roles
	// are there.
	Client func(ctx context.Context, in *View, db string, roles []string) (lab.Spec, error)

	// Keep saves a database inside the running server, where a copy of the data directory would
	// share no blocks, and PutBack makes it equal to that. Nil means copies of the data directory
	// all the same.
	Keep, PutBack func(ctx context.Context, in *View, db string) error

	// ReplicaSettings returns settings of a replica, beside its Config.
	ReplicaSettings func(index int) (map[string]string, error)
	// Position returns the end of the log of a primary, and Reached whether a replica is there.
	Position func(ctx context.Context, primary *View) (string, error)
	Reached  func(ctx context.Context, replica *View, position string) (bool, error)
}

// Programs are the programs of a server.
type Programs struct {
	Name string // of the server in errors
	Path string // stands for them in the data directory's mark
	Dir  string // which the server's user must reach
}

// A Config configures a server. Only Dir is required.
type Config struct {
	Dir  string // state: data, snapshot, socket, log, journal; made when missing
	CPUs []int  // cores of the server and all its workers; nil means those of this program
	// Path of the network namespace that the server runs in; empty means this program's.
	NetNS string
	// IPv4 address that it listens on, and that DSN names; empty means 127.0.0.1. A client that
	// reaches another may log in with the password.
	Addr     string
	Settings map[string]string // server settings; they win over ours
	Data     string            // directory that Export made; a copy replaces the server's data
	Reset    lab.Copying       // how Restore copies; Auto is for all but measurements of it
}

// A View is a server as its product sees it.
type View struct {
	Config
	StateDir  string // where the state really is
	DataDir   string
	SocketDir string
	UID, GID  uint32
	Password  string // of the clients
	Port      int
	Primary   *View // of a replica: the server that it follows
	Index     int   // of a replica
}

// Host returns the address that the server listens on.
func (in *View) Host() string { return cmp.Or(in.Addr, "127.0.0.1") }

// Give replaces a file by one that the server alone can read.
func (in *View) Give(path, text string) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	if in.UID == 0 && in.GID == 0 {
		return nil
	}
	return os.Lchown(path, int(in.UID), int(in.GID))
}

// exec runs statements one by one.
func (s *Server) exec(ctx context.Context, what string, statements ...string) error {
	if err := s.product.Exec(ctx, &s.in, statements...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
