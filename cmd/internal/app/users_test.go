package app

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
	"plimsoll/run/users"
)

// The digest of a plan is that of its file's content, in whatever directory both are.
func TestDigestOfUsersFile(t *testing.T) {
	digest := map[string]string{}
	for name, rows := range map[string]string{
		"one":     "a,b,\n",
		"other":   "a,b,\n",
		"changed": "a,c,\n",
	} {
		dir := t.TempDir()
		failure.None(t,
			os.WriteFile(filepath.Join(dir, "u.csv"), []byte("login,password,token\n"+rows), 0o600))
		p, err := new(App).Known().
			Parse([]byte("name: n\ntarget: {driver: external, url: \"http://a\"}\nworkload: {behavior: mattermost, users_file: u.csv}\nbounded: {users: 1}\n"))
		failure.None(t, err)
		if p, err = new(App).Complete(p, filepath.Join(dir, "plan.yaml")); err != nil {
			t.Fatal(err)
		}
		if _, err := users.CheckUsersFile(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		digest[name] = p.Digest()
		stored, err := plan.ParseStored([]byte(p.String()))
		if err != nil || stored.Digest() != p.Digest() {
			t.Errorf("%s: stored it has another digest (%v)\n%s", name, err, p)
		}
		failure.None(t,
			os.WriteFile(filepath.Join(dir, "u.csv"), []byte("login,password,token\nelse,b,\n"), 0o600))
		failure.Says(t, failure.Of(users.CheckUsersFile(p)),
			"workload.users_file: u.csv has the digest sha256:")
	}
	if digest["one"] != digest["other"] || digest["one"] == digest["changed"] {
		t.Errorf("digests %v", digest)
	}
}

// Behaviors that have no accounts, and settings that would have no effect, are refused.
func TestUsersFileOfAPlan(t *testing.T) {
	for _, tt := range []struct{ workload, want string }{
		{"{behavior: mattermost, with: {poster: 10%}, users_file: u.csv, params: {team: crew, memberships: \"1\"}}", ""},
		{"{behavior: mattermost, users_file: u.csv, params: {users: u-}}", "workload.params.users: has no effect beside workload.users_file"},
		{"{behavior: mattermost, users_file: u.csv, login: cold, params: {sign_up: 10%}}", "workload.params.sign_up: has no effect"},
		{"{behavior: poster, users_file: u.csv, params: {bot_token: \"${ENV:T}\"}}", "workload.params.bot_token: has no effect"},
	} {
		_, err := new(App).Known().
			Parse([]byte("name: n\ntarget: {driver: external, url: \"http://a\"}\nworkload: " + tt.workload + "\nbounded: {users: 3}\n"))
		failure.Want(t, err, tt.want)
	}
}
