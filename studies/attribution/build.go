package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"plimsoll/studies/study"
)

// mainText is the program: the command "refchat", which may change its database before it serves.
const mainText = `package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"plimsoll/reference/refchat"
)

// script is carried out when the server has made its schema.
const script = %q

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	conf := refchat.Config{}
	if script != "" {
		conf.Around = func(h http.Handler, _ prometheus.Registerer) (http.Handler, error) {
			return h, change(ctx)
		}
	}
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "refchat" {
		args = args[1:]
	}
	if err := conf.Main(ctx, args, os.Getenv, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func change(ctx context.Context) error {
	db, err := pgx.Connect(ctx, os.Getenv("REFCHAT_DSN"))
	if err != nil {
		return err
	}
	for s := range strings.SplitSeq(script, ";") {
		if _, err := db.Exec(ctx, s); err != nil {
			return fmt.Errorf("%%s: %%w", s, err)
		}
	}
	return db.Close(ctx)
}
`

// program adds the program to the server's files.
func (s source) program(script string) {
	s[mainPath+"/main.go"] = fmt.Sprintf(mainText, script)
}

// build builds the program from the files in place of those of the repository, without changing
// them there: by an overlay (go help build). Its other files go into dir.
func (s source) build(ctx context.Context, root, dir, output string) error {
	ctx, stop := context.WithTimeout(ctx, 15*time.Minute)
	defer stop()
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	replaced := map[string]string{}
	var errs []error
	for file, text := range s {
		at := filepath.Join(dir, filepath.FromSlash(file))
		replaced[filepath.Join(root, filepath.FromSlash(file))] = at
		errs = append(
			errs,
			os.MkdirAll(filepath.Dir(at), 0o755),
			os.WriteFile(at, []byte(text), 0o644),
		)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	file := filepath.Join(dir, "overlay.json")
	errs = append(errs, err, os.WriteFile(file, overlay, 0o644))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-C", root, "-trimpath", "-buildvcs=false",
		"-overlay", file, "-o", output, "./"+mainPath)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf(
			"building %s: %w: %s",
			filepath.Base(output),
			err,
			study.OneLine(string(out)),
		)
	}
	return nil
}
