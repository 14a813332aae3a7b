package target

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"plimsoll/target/lab"
)

// ErrNoReset is returned by Reset of a target whose state cannot be restored.
var ErrNoReset = errors.New("the state of this target cannot be reset")

// ErrStart is wrapped by the error of Reset when only the start of the program itself failed.
var ErrStart = errors.New("the program did not start")

// ErrProvision is wrapped by the error of Deploy when the program started, but could not be
// provisioned.
var ErrProvision = errors.New("provisioning")

// A Spec describes a deployment. The fields in use depend on the driver; a driver refuses a Spec
// that lacks one it needs.
type Spec struct {
	Name   string // of the arm, for messages, manifests and file names
	Driver string // for the Description; drivers fill in their own name
	// the plan's name of the version; a label, unless the driver can play it
	Version string
	Binary  string // program to run
	// its arguments; variables are expanded; no secrets: every user can see them
	Args    []string
	Env     map[string]string // variables of its environment; variables such as ${DSN} are expanded
	Secrets map[string]string // more variables of its environment; their values are never shown
	WorkDir string            // the program's working directory; empty means Dir

	Instances int    // processes of the program, on consecutive ports; 0 means 1
	CPUs      []int  // cores of program and database; nil means those of this program
	Engine    string // database engine, a name that the driver was given; empty means no database
	Dataset   string // content of the database before a run, for the Description; a label

	Dir string // state directory: logs, data, journal
	URL string // base URL of an instance; default http://127.0.0.1:${PORT}
	// external targets: base URLs of all servers, URL first; nil means URL alone
	URLs []string
	// URL or path that answers with a status of the 200s once an instance is ready; default "/"
	Ready string
	// URL or path of an instance's Prometheus metrics; empty means that it has none
	MetricsURL string
	// MetricsURLs name the pages of all servers of an external target, MetricsURL first; nil means
	// MetricsURL alone.
	MetricsURLs []string
	StopSignal  string   // name of the signal that ends an instance; default SIGTERM
	InstallCmd  []string // external targets: a command that puts the arm's version there; no shell
	ResetCmd    []string // external targets: a command that puts the state back; no shell
}

// An Endpoint says where a deployed target is found.
type Endpoint interface {
	// URL returns the first of URLs.
	URL() string
	// URLs returns where users reach the target: the base URLs of all instances without a slash at
	// their end, or that of the proxy before them.
	URLs() []string
	// MetricsURLs returns where Prometheus metrics are read, one URL per instance; empty when there
	// are none.
	MetricsURLs() []string
	// PIDs returns the processes on this host by role: "app", "db", "replica", "proxy", companions.
	// A server that forks workers is named by its first process. It changes at Reset. It is empty
	// for a target elsewhere.
	PIDs() map[string][]int
}

// A Deployment is a system under test that is ready for a run. Its methods may be called from
// several goroutines; Reset and Stop exclude each other.
type Deployment interface {
	Endpoint
	// Describe returns the description of the deployment for the manifest. It holds no secrets.
	Describe() Description
	// Reset restores the state at the return of Deploy, and restarts all programs. URLs stay; PIDs
	// change. After an error the deployment is only good for another Reset or Stop.
	Reset(ctx context.Context) error
	// Stop ends all programs, within 10 seconds and at once when ctx has ended. It may be called
	// again.
	Stop(ctx context.Context) error
}

// A Pauser is a Deployment whose programs can stand still, all at once: the database and the
// companions too. Pause and Continue are for one goroutine. Reset, Stop, and whatever else ends
// programs, continue them first.
type Pauser interface {
	// Pause returns when no process of the target runs. When it fails, or ctx ends first, the
	// target runs on. Pausing a paused target is not an error.
	Pause(ctx context.Context) error
	// Continue lets the target go on. It does nothing to one that is not paused.
	Continue() error
	// PausedBy names the means for reports: "freezer" for control groups, or "signals".
	PausedBy() string
}

// A Driver deploys targets of one kind.
type Driver interface {
	// Deploy returns when the target is ready for the first run. When it fails, or ctx ends first,
	// nothing that it started is left running.
	Deploy(ctx context.Context, spec Spec) (Deployment, error)
}

// Storage is the state of a database server, as its supervisor offers it.
type Storage interface {
	// DSN returns the URL of a database, password included, with the scheme of its protocol.
	DSN(db string) string
	CreateDatabase(ctx context.Context, name string) error
	// Snapshot saves the present contents for Restore; it may restart the server.
	Snapshot(ctx context.Context, name string) error
	// Restore goes back to the snapshot and restarts the server on the same port.
	Restore(ctx context.Context, name string) error
}

// A Database is a supervised database server.
type Database interface {
	Storage
	Describe(ctx context.Context) (lab.ProgramInfo, error)
	PIDs() []int
	Stop(ctx context.Context) error
}

// A StartDatabase starts a database server with its state in dir, on the given cores (nil: any).
type StartDatabase func(ctx context.Context, dir string, cpus []int) (Database, error)

// A Replica is a supervised copy of a database server, which follows that one and answers reads.
type Replica interface {
	// DSN is the address of [Storage].
	DSN(db string) string
	// Follow makes the copy equal to the server that it follows, after that was restored or
	// restarted, and returns when it has all of that. A stopped one is started, and its port stays.
	// It may restart the server that it follows.
	Follow(ctx context.Context) error
	Describe(ctx context.Context) (lab.ProgramInfo, error)
	PIDs() []int
	Stop(ctx context.Context) error
}

// A StartReplica starts replica number index of a database server that runs, with its state in dir,
// on the given cores (nil: any). It returns when the replica has all that the server has; it may
// restart the server for that.
type StartReplica func(ctx context.Context, of Database, dir string, cpus []int, index int) (Replica, error)

// A Companion is a supervised server that a program needs besides the database, such as a cache.
type Companion interface {
	// Addr returns where it answers, host:port.
	Addr() string
	Describe(ctx context.Context) (lab.ProgramInfo, error)
	PIDs() []int
	Stop(ctx context.Context) error
}

// A StartCompanion starts a companion with its state in dir, which is empty, on the given cores
// (nil: any). It returns when the companion answers.
type StartCompanion func(ctx context.Context, dir string, cpus []int) (Companion, error)

// A StartProxy starts a proxy on listen, host:port, before servers at upstreams, host:port, that
// run. Its state is in dir, and it may use the given cores (nil: any). It returns when the proxy
// accepts connections.
type StartProxy func(ctx context.Context, dir string, cpus []int, listen string, upstreams []string) (Companion, error)

// A Description describes a deployment. It goes into manifests and reports and holds no secrets.
type Description struct {
	Name    string `json:"name,omitempty"`
	Driver  string `json:"driver"`
	Version string `json:"version,omitempty"`
	// program and arguments, variables not expanded
	Command []string `json:"command,omitempty"`
	// variables not expanded; secret ones without their values
	Env       map[string]string `json:"env,omitempty"`
	URLs      []string          `json:"urls,omitempty"` // where users reach it
	Instances int               `json:"instances"`      // number of processes of the program
	// cores of program and database; empty: not placed
	CPUs []int `json:"cpus,omitempty"`
	// SHA-256 of the program file, in hexadecimal
	Digest string `json:"digest,omitempty"`
	// as the plan calls it: postgresql, mysql
	Engine  string `json:"engine,omitempty"`
	Dataset string `json:"dataset,omitempty"` // content of the database before a run
	// the server's own name, version, durability and sizes
	Database *lab.ProgramInfo `json:"database,omitempty"`
	// Companions are the other servers besides the database, by role.
	Companions map[string]lab.ProgramInfo `json:"companions,omitempty"`
	// Deployment describes the environment of the program: network, container engine with its
	// version, limits. Empty: a process on this host.
	Deployment map[string]string `json:"deployment,omitempty"`
	Settings   map[string]string `json:"settings,omitempty"` // further facts from the driver
	// Objects are the counts that were compared before a run, by the names of the server's
	// objects; nil if none were.
	Objects map[string]int64 `json:"objects,omitempty"`
	// Hosts are the hosts of the programs when each role has its own, in the order of their
	// addresses. Links are the limits of their links, in words; empty for none.
	Hosts []HostAddr `json:"hosts,omitempty"`
	Links string     `json:"links,omitempty"`
}

// ReplicaPrefix begins the names of the copies of a database among the Companions; the number
// follows.
const ReplicaPrefix = "replica-"

// Replicas returns the names of the copies of the database, in order.
func (d Description) Replicas() []string {
	names := slices.Sorted(maps.Keys(d.Companions)) // of one digit
	return slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, ReplicaPrefix)
	})
}

// A HostAddr is one of several that a target's programs run on, such as app-0, and its address.
type HostAddr struct {
	Name string `json:"name"`
	Addr string `json:"addr"`
}

// Hidden stands for the value of a secret variable in a Description.
const Hidden = "(secret)"
