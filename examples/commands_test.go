package examples

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/program"
	"plimsoll/plan"
)

// standIn is a program of any name that records its call, with what the scripts pass in the
// environment, and does nothing. The call of the number FAIL_AT fails.
const standIn = `#!/bin/sh
n=$(cat "$CALLS.count" 2>/dev/null || echo 0)
n=$((n + 1))
echo $n > "$CALLS.count"
printf '%s' "${0##*/} $*" | tr '\n' ' ' | tr -s ' ' >> "$CALLS"
[ -z "${APP_IMAGE:-}" ] || printf ' [image %s]' "$APP_IMAGE" >> "$CALLS"
[ -z "${DB_PASSWORD:-}" ] || printf ' [password passed on]' >> "$CALLS"
echo >> "$CALLS"
[ "$n" != "${FAIL_AT:-}" ] || { echo "stand-in $n fails" >&2; exit 9; }
`

// scriptCalls carries a script out whose programs are stand-ins, and returns their calls and the
// error of the script.
func scriptCalls(t *testing.T, script string, args, env []string, failAt int) ([]string, error) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"docker", "kubectl", "helm", "ansible-playbook", "ssh"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(standIn), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	calls := filepath.Join(dir, "calls")
	cmd := exec.CommandContext(t.Context(), "external/"+script, args...)
	cmd.WaitDelay = time.Second
	cmd.Env = append(
		[]string{
			"PATH=" + dir + ":/usr/bin:/bin",
			"CALLS=" + calls,
			"PLIMSOLL_VERSION=11.1.0",
			"PLIMSOLL_ARM=base",
			"PLIMSOLL_BLOCK=2",
			"PLIMSOLL_RUN=1",
		},
		env...)
	if failAt > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprint("FAIL_AT=", failAt))
	}
	out, err := cmd.CombinedOutput()
	b, rerr := os.ReadFile(calls)
	if rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
		t.Fatalf("%v\n%s", rerr, out)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n"), err
}

// TestExamplesOfCommands: each script calls the programs that it is an example of, with the version
// of the arm and no secret in the arguments, and it fails where any of these calls fails.
func TestExamplesOfCommands(t *testing.T) {
	kube := []string{
		"NAMESPACE=load-test",
		"DEPLOYMENT=mattermost",
		"CONTAINER=mattermost",
		"REPLICAS=2",
	}
	hosts := []string{"APP=app1 app2", "DB=db1"}
	playbook := []string{"INVENTORY=inv.ini", "DB_PASSWORD=hush-hush"}
	tests := []struct {
		script string
		args   []string
		env    []string
		want   []string // beginnings of the calls; * stands for the rest
	}{
		{"compose/install.sh", nil, nil, []string{
			"docker compose pull --quiet app [image mattermost/mattermost-team-edition:11.1.0]",
			"docker compose up --detach --no-build db app [image mattermost/mattermost-team-edition:11.1.0]"}},
		{
			"compose/install.sh",
			nil,
			[]string{"PLIMSOLL_ARM=new"},
			[]string{
				"docker compose run --rm --no-deps --entrypoint test db -e /snapshot/complete *",
				"docker compose pull --quiet app *",
				"docker compose up *",
			},
		},
		{
			"compose/install.sh",
			nil,
			[]string{"IMAGE=own/chat"},
			[]string{
				"docker compose pull --quiet app [image own/chat:11.1.0]",
				"docker compose up *",
			},
		},
		{
			"compose/reset.sh",
			nil,
			nil,
			[]string{
				"docker compose stop app db *",
				"docker compose run --rm --no-deps --entrypoint sh db -c *",
				"docker compose up --detach --no-build db app *",
			},
		},
		{"kubernetes/install.sh", nil, kube, []string{
			"kubectl --namespace load-test set image deployment/mattermost mattermost=mattermost/mattermost-team-edition:11.1.0",
			"kubectl --namespace load-test rollout status deployment/mattermost --timeout=15m"}},
		{
			"kubernetes/install.sh",
			nil,
			append(kube, "RELEASE=chat", "CHART=mattermost/chart"),
			[]string{
				"helm upgrade chat mattermost/chart --namespace load-test --reuse-values --values external/kubernetes/values.yaml --set image.tag=11.1.0 --wait --timeout 15m",
				"kubectl --namespace load-test rollout status *"},
		},
		{"kubernetes/reset.sh", nil, kube, []string{
			"kubectl --namespace load-test scale deployment/mattermost --replicas=0", "kubectl --namespace load-test wait --for=delete pod --selector app=mattermost *",
			"kubectl --namespace load-test create job restore-2-1-*", "kubectl --namespace load-test wait --for=condition=complete job/restore-2-1-*",
			"kubectl --namespace load-test delete job restore-2-1-*", "kubectl --namespace load-test scale deployment/mattermost --replicas=2", "kubectl --namespace load-test rollout status *"}},
		{"ansible/install.sh", nil, playbook, []string{
			"ansible-playbook --inventory inv.ini --extra-vars version=11.1.0 external/ansible/install.yaml [password passed on]"}},
		{
			"ansible/reset.sh",
			nil,
			playbook,
			[]string{
				"ansible-playbook --inventory inv.ini external/ansible/reset.yaml [password passed on]",
			},
		},
		{"ansible/ssh.sh", []string{"install"}, hosts, []string{
			"ssh -o BatchMode=yes -o ConnectTimeout=10 app1 sudo systemctl stop mattermost", "ssh *app2 sudo systemctl stop mattermost",
			"ssh *app1 sudo tar -xzf /srv/releases/mattermost-11.1.0-linux-amd64.tar.gz -C /opt", "ssh *app2 sudo tar *", "ssh *app1 sudo systemctl start mattermost", "ssh *app2 sudo systemctl start mattermost"}},
		{"ansible/ssh.sh", []string{"reset"}, hosts, []string{
			"ssh *app1 sudo systemctl stop mattermost", "ssh *app2 sudo systemctl stop mattermost", "ssh *db1 dropdb --if-exists --force mattermost && createdb --template mattermost_snapshot mattermost",
			"ssh *app1 sudo systemctl start mattermost", "ssh *app2 sudo systemctl start mattermost"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(append([]string{tt.script}, tt.args...), " "), func(t *testing.T) {
			calls, err := scriptCalls(t, tt.script, tt.args, tt.env, 0)
			if err != nil || len(calls) != len(tt.want) {
				t.Fatalf(
					"%v; %d calls, want %d:\n%s",
					err,
					len(calls),
					len(tt.want),
					strings.Join(calls, "\n"),
				)
			}
			for i, want := range tt.want {
				head, rest, open := strings.Cut(want, "*")
				if open && !strings.HasPrefix(calls[i], head) ||
					open && !strings.Contains(calls[i], strings.TrimSuffix(rest, "*")) ||
					!open && calls[i] != want {
					t.Errorf("call %d is\n%s\nwant\n%s", i+1, calls[i], want)
				}
				if strings.Contains(calls[i], "hush-hush") {
					t.Errorf("a secret is in the arguments: %s", calls[i])
				}
			}
			for n := range tt.want {
				if made, err := scriptCalls(t, tt.script, tt.args, tt.env, n+1); err == nil {
					t.Errorf("the script is content although call %d failed: %s", n+1, made[n])
				}
			}
		})
	}
	if calls, err := scriptCalls(t, "ansible/ssh.sh", []string{"remove"}, hosts, 0); err == nil ||
		calls[0] != "" {
		t.Errorf("ssh.sh accepts a word that it does not know: %v, calls %q", err, calls)
	}
}

// TestExamplePlansOfCommands: the plans are good, and their commands are programs.
func TestExamplePlansOfCommands(t *testing.T) {
	names, err := filepath.Glob("external/*/plan.yaml")
	if err != nil || len(names) != 4 {
		t.Fatalf("%d plans, %v", len(names), err)
	}
	plimsoll, err := program.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Parse(src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if out, err := exec.CommandContext(t.Context(), plimsoll, "plan", "check", name).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		for _, argv := range [][]string{p.Target.Install, p.Target.Reset} {
			if st, err := os.Stat("../" + argv[0]); err != nil || st.Mode()&0o111 == 0 {
				t.Errorf("%s: %s is no program: %v", name, argv[0], err)
			}
		}
		if !p.Target.Verify.Counts() || p.Target.Verify.Version != "from-api" {
			t.Errorf("%s verifies %+v", name, p.Target.Verify)
		}
	}
}
