// Package own is the registry of the servers that this program knows: refchat and the null server,
// which it contains and starts as targets of a test and by themselves, and releases of Mattermost.
package own

import (
	"context"
	"fmt"
	"io"
	"regexp"

	"plimsoll/dialect/mattermost"
	"plimsoll/dialect/script"
	data "plimsoll/reference/dataset/refchat"
	"plimsoll/reference/refchat"
	"plimsoll/reference/refnull"
	"plimsoll/run/deploy"
	"plimsoll/run/deploy/stores"
	"plimsoll/run/session"
	"plimsoll/target"
	release "plimsoll/target/mattermost"
	"plimsoll/target/process"
)

// Chat is the service that the program always has.
var Chat = session.Service{
	Dialect: mattermost.Dialect,
	Drivers: drivers,
	Servers: []session.ServerVerb{
		{
			Name: mattermost.Refchat, Short: "the reference chat server by itself",
			Run: refchat.Config{}.Main, BadUsage: refchat.ErrUsage,
		},
		{
			Name:     mattermost.Refnull,
			Short:    "a server that does almost nothing, for measuring clients",
			Run:      runRefnull,
			BadUsage: refnull.ErrUsage,
		},
	},
}

// Script is the service of users that follow a script at any server.
var Script = session.Service{Dialect: script.Dialect}

func runRefnull(
	ctx context.Context,
	args []string,
	_ func(string) string,
	stdout, _ io.Writer,
) error {
	return refnull.Main(ctx, args, stdout)
}

// drivers start the servers, by the names that the dialect gives them.
var drivers = map[string]deploy.OwnDriver{
	mattermost.Refchat: {
		Configure: func(conf *process.Config, _ string, _ stores.Side) {
			conf.Command, conf.Files = refchatCommand, []string{uploads}
		},
		CheckFault: refchat.CheckFault,
		Data:       refchat.SchemaVersion, UserPassword: data.DefaultPassword,
	},
	mattermost.Refnull: {Configure: func(conf *process.Config, _ string, _ stores.Side) {
		conf.Databases, conf.Command = nil, refnullCommand
	}},
	mattermost.Release: {Configure: func(conf *process.Config, _ string, _ stores.Side) {
		conf.Command, conf.Files = releaseCommand, []string{release.Files}
	}},
}

// uploads is the directory of the files of several servers, or of one on a dataset. A single server
// without a dataset has a temporary directory, which ends with it.
const uploads = "files"

// refchatCommand starts this program's reference server, or another build of it.
func refchatCommand(spec target.Spec, in process.Instance) (process.Command, error) {
	args := []string{mattermost.Refchat, "-listen=${HOSTPORT}"}
	if v := releaseRE.FindString(spec.Version); v != "" {
		args = append(args, "-version="+v)
	}
	if spec.Instances > 1 || spec.Dataset != "" {
		args = append(args, "-files=${DIR}/"+uploads)
	}
	if spec.Instances > 1 {
		args = append(args, "-bus="+in.Peer(in.Index, 1))
		for i := range in.Peers {
			if i != in.Index {
				args = append(args, "-peer="+in.Peer(i, 1))
			}
		}
	}
	cores := len(spec.CPUs)
	env := map[string]string{"REFCHAT_DSN": "${DSN}"}
	if len(in.Replicas) > 0 {
		env["REFCHAT_DSN_REPLICAS"] = "${DSN_REPLICAS}"
	}
	if cores > 0 {
		env["GOMAXPROCS"] = fmt.Sprint(cores)
	}
	return process.Command{Path: spec.Binary, Args: append(args, spec.Args...), Env: env}, nil
}

// refnullCommand starts this program's null server.
func refnullCommand(spec target.Spec, _ process.Instance) (process.Command, error) {
	env := map[string]string{}
	if n := len(spec.CPUs); n > 0 {
		env["GOMAXPROCS"] = fmt.Sprint(n)
	}
	return process.Command{
		Path: spec.Binary,
		Args: append([]string{mattermost.Refnull, "-listen=${HOSTPORT}"}, spec.Args...),
		Env:  env,
	}, nil
}

// releaseCommand starts the server of a release directory.
func releaseCommand(spec target.Spec, in process.Instance) (process.Command, error) {
	path, args, err := release.Program(spec.Binary)
	if err != nil {
		return process.Command{}, err
	}
	env := release.Settings(in.Engine)
	return process.Command{Path: path, Args: append(args, spec.Args...), Env: env}, nil
}

// releaseRE is the form of the releases that the reference server plays: with another version,
// which is only a text for people, it would not start.
var releaseRE = regexp.MustCompile(`^[0-9]{1,9}\.[0-9]{1,9}(\.[0-9]{1,9}(-[0-9A-Za-z.]+)?)?$`)
