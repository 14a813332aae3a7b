package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"plimsoll/plan"
)

// No message may repeat the secret it complains about.
func TestSecretsAreRefused(t *testing.T) {
	const secret = "hunter2hunter2"
	tests := []struct{ name, line, place string }{
		{"environment", "target: {driver: server, env: {DB_PASSWORD: S}}", "2:45: target.env.DB_PASSWORD"},
		{"token", "target: {driver: server, env: {ADMIN_TOKEN: S}}", "2:45: target.env.ADMIN_TOKEN"},
		{"dsn key", "target: {driver: server, env: {DSN: S}}", "2:37: target.env.DSN"},
		{"flag with value", "target: {driver: server, args: [-api-key=S]}", "2:33: target.args[0]"},
		{"flag and value", "target: {driver: server, args: [--password, S]}", "2:45: target.args[1]"},
		{"assignment", "target: {driver: process, command: [env, SECRET=S, server]}", "2:42: target.command[1]"},
		{"address", "target: {driver: server, url: 'http://admin:S@host'}", "2:31: target.url"},
		{"address in an argument", "target: {driver: server, args: ['-db=postgres://u:S@host/db']}", "2:33: target.args[0]"},
		{"data source", "target: {driver: server, args: ['u:S@tcp(127.0.0.1:3306)/db']}", "2:33: target.args[0]"},
		{"arm", "target: {driver: server}\ncompare: {arms: {base: {}, new: {env: {APITOKEN: S}}}}", "3:50: compare.arms.new.env.APITOKEN"},
		{"database of an arm", "target: {driver: server}\ncompare: {arms: {base: {}, new: {database: 'postgres://u:S@h'}}}", "3:44: compare.arms.new.database"},
		{"setup", "target: {driver: server}\nsetup: {admin password: S}", "3:25: setup.admin password"},
		{"params", "target: {driver: server}\nworkload: {behavior: poster, params: {bot_token: S}}", "3:50: workload.params.bot_token"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := "name: n\n" + tt.line + "\nbounded: {users: 1}\n"
			if !strings.Contains(src, "workload:") {
				src += "workload: {behavior: poster}\n"
			}
			_, err := plan.Parse([]byte(strings.Replace(src, "S}", secret+"}", 1)))
			if err == nil {
				_, err = plan.Parse([]byte(replaceValue(src, secret)))
			}
			if err == nil || !strings.Contains(err.Error(), tt.place+": ") || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %v, want one problem at %s", err, tt.place)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the message holds the secret: %v", err)
			}
			p, err := plan.Parse([]byte(replaceValue(src, "'${ENV:X}'")))
			if err != nil {
				t.Fatalf("a reference was refused: %v", err)
			}
			if !strings.Contains(p.String(), "${ENV:X}") {
				t.Errorf("the reference is not printed:\n%s", p)
			}
		})
	}
}

// replaceValue puts v where the case has S. Inside quotes it is put without its own.
func replaceValue(src, v string) string {
	for _, q := range []string{":S@"} {
		src = strings.Replace(src, q, strings.Replace(q, "S", strings.Trim(v, "'"), 1), 1)
	}
	if strings.Contains(v, "$") && strings.ContainsAny(src, "=") {
		src = strings.Replace(src, "-api-key=S", "'-api-key="+strings.Trim(v, "'")+"'", 1)
		src = strings.Replace(src, "SECRET=S", "'SECRET="+strings.Trim(v, "'")+"'", 1)
	}
	for _, end := range []string{"S}", "S]", "S,"} {
		for _, start := range []string{" ", "="} {
			src = strings.Replace(src, start+end, start+v+end[1:], 1)
		}
	}
	return src
}

func TestReferences(t *testing.T) {
	for _, bad := range []string{"${ENV:}", "${ENV:9X}", "${ENV}", "${FILE:}", "${ENV:X", "a${FILE:${ENV:X}}"} {
		src := fmt.Sprintf("name: n\ntarget: {driver: server, env: {X: '%s'}}\nworkload: {behavior: p}\nbounded: {users: 1}\n", bad)
		if _, err := plan.Parse([]byte(src)); err == nil || !strings.Contains(err.Error(), "2:35: target.env.X: holds a reference that is not complete") {
			t.Errorf("%s: got %v", bad, err)
		}
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
