// Command server is the reference chat server with a difference from it that is built in: each
// build is a program of its own, as those of two commits are. It takes the arguments of "plimsoll
// refchat".
//
//	go build -ldflags '-X main.planted=work:400us@createPost' ./curve/server
package main

import (
	"context"
	"net/http"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"plimsoll/reference/refchat"
	"plimsoll/studies/study"
)

// planted is a fault as [refchat.CheckFault] has it, or "no-index:NAME", without an index on
// PostgreSQL; "" is no difference. The linker sets it.
var planted string

func main() { study.Main(serve) }

func serve(ctx context.Context, args []string) error {
	var conf refchat.Config
	if len(args) > 0 && args[0] == "refchat" {
		args = args[1:]
	}
	if index, ok := strings.CutPrefix(planted, "no-index:"); ok {
		conf.Around = func(h http.Handler, _ prometheus.Registerer) (http.Handler, error) {
			return h, drop(ctx, index)
		}
	} else if planted != "" {
		args = append([]string{"-fault=" + planted}, args...)
	}
	return conf.Main(ctx, args, os.Getenv, os.Stdout, os.Stderr)
}

// drop removes an index of the server's database, which has its schema.
func drop(ctx context.Context, index string) error {
	db, err := pgx.Connect(ctx, os.Getenv("REFCHAT_DSN"))
	if err != nil {
		return err
	}
	_, err = db.Exec(ctx, "DROP INDEX IF EXISTS "+pgx.Identifier{index}.Sanitize())
	if err != nil {
		return err
	}
	return db.Close(ctx)
}
