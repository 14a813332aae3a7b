// Package process deploys any program as a target: with its environment, a URL that shows when it
// is ready, and a signal that ends it.
//
// # Deploying
//
// [Launcher.Deploy] starts a database when the Spec names an engine, creates a database in it,
// starts the program once so that it prepares its schema, calls [Config].Provision, stops the
// program, takes a snapshot of the database, and starts everything as each run finds it. Reset
// stops the program, restores the snapshot, which restarts the database, removes the files that the
// program has made since ([Config].Files), and starts the program. State that it keeps elsewhere is
// its own. Reset refuses a program whose file was replaced since the deployment: the description
// has the digest of the first one. No program is started while another server answers at its ready
// address.
//
// The state directory is this deployment's until it is stopped, also while it is halted between two
// runs. The program's temporary files lie there (TMPDIR) and do not outlive its next start.
//
// # Replicas
//
// [Config].Replicas copies of the database follow it, the role "replica". A reset stops them before
// the database is restored, and the program starts when each has all that was restored.
//
// # Proxies
//
// [Config].Proxy starts a proxy before the instances when all are ready, and stops it before them.
// It is the role "proxy"; its address, which is the only URL of the deployment, stays at a Reset.
//
// # Pausing
//
// A deployment is a [target.Pauser]: programs, database and companions stand still together, by
// [Placed].Freezer or, without one, by signals. Halt, Reset and Stop continue them first.
//
// # Variables
//
// In arguments, environment and URLs, ${NAME} stands for:
//
//	PORT PORT1 PORT2 PORT3    ports of this instance; PORT is consecutive among instances
//	HOST                      address that this instance listens on: 127.0.0.1, or what [Placed] says
//	HOSTPORT                  HOST and PORT, with a colon
//	URL                       base URL of this instance
//	USERS_URL                 base URL that users have: the proxy before the instances, or else URL
//	INDEX INSTANCES           number of this instance, from 0, and how many there are
//	PEERS PEERS1 PEERS2 PEERS3  host:port of all instances, with commas between
//	DIR                       state directory, for files of the program
//	DSN                       URL of the database, such as postgres://user:password@host:port/db?…
//	DSN_BARE                  the same without its scheme: the form for Go's MySQL driver
//	DSN_REPLICAS              URLs of the database's replicas, with spaces between; empty without any
//	DSN_REPLICAS_BARE         the same without schemes
//	DB_ENGINE DB_HOST DB_PORT DB_NAME   parts of it
//	DB_USER DB_PASSWORD       parts of it
//
//	CACHE, ...                host:port of the companion of that role, in upper case
//
// $$ stands for a dollar sign. An unknown name is an error. The DSNs and DB_PASSWORD are refused in
// arguments, which every user of the host can read.
//
// # Out of scope
//
// The program and its companions: a [Config] brings them. Needs of a kind of server beyond
// variables go into
// [Config]: its command line and its provisioning. Containers, networks and limits: [Placed] hands each process to
// the caller, which applies them.
package process
