package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

// No message may repeat the secret it complains about. Each case has SECRET where the value goes.
func TestSecretsAreRefused(t *testing.T) {
	const secret = "hunter2hunter2"
	tests := []struct{ name, line, place string }{
		{
			"environment",
			"target: {driver: server, env: {DB_PASSWORD: 'SECRET'}}",
			"2:45: target.env.DB_PASSWORD",
		},
		{
			"token",
			"target: {driver: server, env: {ADMIN_TOKEN: 'SECRET'}}",
			"2:45: target.env.ADMIN_TOKEN",
		},
		{
			"data source key",
			"target: {driver: server, env: {DSN: 'SECRET'}}",
			"2:37: target.env.DSN",
		},
		{
			"flag with value",
			"target: {driver: server, args: ['-api-key=SECRET']}",
			"2:33: target.args[0]",
		},
		{
			"flag and value",
			"target: {driver: server, args: [--password, 'SECRET']}",
			"2:45: target.args[1]",
		},
		{
			"assignment",
			"target: {driver: process, command: [env, 'MY_TOKEN=SECRET', server]}",
			"2:42: target.command[1]",
		},
		{
			"address",
			"target: {driver: server, url: 'http://admin:SECRET@host'}",
			"2:31: target.url",
		},
		{
			"address in an argument",
			"target: {driver: server, args: ['-db=postgres://u:SECRET@host/db']}",
			"2:33: target.args[0]",
		},
		{
			"query",
			"target: {driver: server, metrics_url: '/metrics?x=1&access_token=SECRET'}",
			"2:39: target.metrics_url",
		},
		{
			"header",
			"target: {driver: server, args: [-H, 'Authorization: Bearer SECRET']}",
			"2:37: target.args[1]",
		},
		{
			"data source",
			"target: {driver: server, args: ['u:SECRET@tcp(127.0.0.1:3306)/db']}",
			"2:33: target.args[0]",
		},
		{
			"arm",
			"target: {driver: server}\ncompare: {arms: {base: {}, new: {env: {APITOKEN: 'SECRET'}}}}",
			"3:50: compare.arms.new.env.APITOKEN",
		},
		{
			"setup",
			"target: {driver: server}\nsetup: {admin password: 'SECRET'}",
			"3:25: setup.admin password",
		},
		{
			"params",
			"target: {driver: server}\nworkload: {behavior: poster, params: {bot_token: 'SECRET'}}",
			"3:50: workload.params.bot_token",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := "name: n\n" + tt.line + "\nbounded: {users: 1}\n"
			if !strings.Contains(src, "workload:") {
				src += "workload: {behavior: poster}\n"
			}
			_, err := plan.Parse([]byte(strings.Replace(src, "SECRET", secret, 1)))
			if err == nil || !strings.HasPrefix(err.Error(), tt.place+": ") ||
				strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %v, want one problem at %s", err, tt.place)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the message holds the secret: %v", err)
			}
			p, err := plan.Parse([]byte(strings.Replace(src, "SECRET", "${ENV:X}", 1)))
			// In which nothing replaces them.
			if strings.Contains(tt.place, "args") || strings.Contains(tt.place, "command") {
				if err == nil ||
					!strings.HasPrefix(
						err.Error(),
						tt.place+": names a secret; every user of a host can read arguments",
					) {
					t.Errorf("a reference in an argument: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatalf("a reference was refused: %v", err)
			}
			if !strings.Contains(p.String(), "${ENV:X}") {
				t.Errorf("the reference is not printed:\n%s", p)
			}
		})
	}
}

// The name of a secret is none: a variable that the driver fills in, or the place that a switch
// names.
func TestNamesOfSecretsAreAccepted(t *testing.T) {
	for _, target := range []string{
		"{driver: server, env: {DSN: '${DSN}'}}",
		"{driver: server, env: {MY_DSN: '${DSN_BARE}?charset=utf8mb4', DB_PASSWORD: '${DB_PASSWORD}'}}",
		"{driver: server, env: {DB: 'postgres://${DB_USER}:${DB_PASSWORD}@${DB_HOST}/db'}}",
		"{driver: server, env: {DB_PASSWORD_FILE: /run/secrets/db}}",
		"{driver: server, args: [-dsn-env=DATABASE_URL, --admin-password-env, ADMIN_PASSWORD, -token-file=./token]}",
	} {
		src := "name: n\ntarget: " + target + "\nworkload: {behavior: poster}\nbounded: {users: 1}\n"
		if _, err := plan.Parse([]byte(src)); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
	for _, target := range []string{
		"{driver: server, env: {DSN: '${OTHER}'}}",
		"{driver: server, env: {DB: 'postgres://u:${OTHER}@host/db'}}",
		// in which the driver fills no secret in
		"{driver: server, url: 'http://u:${DB_PASSWORD}@host'}",
		"{driver: server, args: ['-dsn=${DSN}']}",
		"{driver: server, args: [-dsn-env=hunter2hunter2]}",
		"{driver: server, args: [-token-file, hunter2hunter2]}",
	} {
		src := "name: n\ntarget: " + target + "\nworkload: {behavior: poster}\nbounded: {users: 1}\n"
		if _, err := plan.Parse([]byte(src)); err == nil {
			t.Errorf("%s: accepted", target)
		}
	}
}

func TestReferences(t *testing.T) {
	for _, bad := range []string{"${ENV:}", "${ENV:9X}", "${ENV}", "${FILE:}", "${ENV:X", "a${FILE:${ENV:X}}"} {
		src := fmt.Sprintf(
			"name: n\ntarget: {driver: server, env: {X: '%s'}}\nworkload: {behavior: p}\nbounded: {users: 1}\n",
			bad,
		)
		failure.Says(t, failure.Of(plan.Parse([]byte(src))),
			"2:35: target.env.X: holds a reference that is not complete")
	}
}

func TestExpand(t *testing.T) {
	lookup := func(kind, name string) (string, error) {
		if name == "GONE" {
			return "", errors.New("not set")
		}
		return kind + "<" + name + ">", nil
	}
	for in, want := range map[string]string{
		"plain $HOME ${HOME}":              "plain $HOME ${HOME}",
		"${ENV:A}":                         "ENV<A>",
		"http://u:${ENV:P}@h/${FILE:/a b}": "http://u:ENV<P>@h/FILE</a b>",
	} {
		if got, err := plan.Expand(in, lookup); got != want || err != nil {
			t.Errorf("Expand(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	got, err := plan.Expand("x${ENV:A}y${ENV:GONE}", lookup)
	if got != "" || err == nil || err.Error() != "expanding ${ENV:GONE}: not set" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A boolean switch about tokens is not a token: servers name their settings so.
func TestSwitchesAreNoSecrets(t *testing.T) {
	const src = "name: x\ntarget: {driver: process, binary: b, env: {ENABLEUSERACCESSTOKENS: %s}}\nworkload: {behavior: poster}\nbounded: {users: 1, measure: 5s}\n"
	for value, good := range map[string]bool{`"true"`: true, `"false"`: true, `"truetrue"`: false} {
		_, err := plan.Parse([]byte(strings.Replace(src, "%s", value, 1)))
		if (err == nil) != good {
			t.Errorf("%s: %v", value, err)
		}
	}
}
