package plan

import (
	"strings"
	"testing"
)

func TestUsersFile(t *testing.T) {
	const head = "name: n\ntarget: {driver: external, url: http://a}\n"
	p, err := Parse([]byte(
		head + "workload: {behavior: b, users_file: ../users.csv}\nbounded: {users: 3}\nunbounded: {max_users: 9}\n",
	))
	if err != nil || p.Workload.UsersFile != "../users.csv" {
		t.Fatalf("%v: %q", err, p.Workload.UsersFile)
	}
	// The digest is of the content, wherever the file is for this process.
	sum := "sha256:" + strings.Repeat("0a", 32)
	q, r := p.WithUsersAt("/data/users.csv", sum), p.WithUsersAt("/else/users.csv", sum)
	if again, err := Parse([]byte(q.String())); err != nil || again.Workload.UsersDigest != sum ||
		again.Workload.UsersPath() != "../users.csv" ||
		q.Workload.UsersPath() != "/data/users.csv" ||
		p.Workload.UsersPath() != "../users.csv" {
		t.Errorf("with a place: %v\n%s", err, q)
	}
	if q.Digest() != r.Digest() ||
		q.Digest() == p.WithUsersAt("/data/users.csv", strings.Replace(sum, "0a", "0b", 1)).
			Digest() {
		t.Error("the digest depends on the directory, or not on the content")
	}
	if x := q.WithoutFiles(); strings.Contains(x.String(), "users_") ||
		x.Workload.UsersPath() != "" {
		t.Errorf("without the file:\n%s", x)
	}
}

func TestMostUsers(t *testing.T) {
	for _, tt := range []struct {
		plan Plan
		n    int
		key  string
	}{
		{Plan{Bounded: &Bounded{Users: PerEngine{"": 3}}}, 3, "bounded.users"},
		{Plan{Bounded: &Bounded{Users: PerEngine{
			MySQL:      3,
			PostgreSQL: 5,
		}}}, 5, "bounded.users.postgresql"},
		{Plan{
			Bounded:   &Bounded{Users: PerEngine{"": 3}},
			Unbounded: &Unbounded{MaxUsers: 9},
		}, 9, "unbounded.max_users"},
		{Plan{
			Sizing:    &LoadSteps{Steps: []int{5, 20}},
			Unbounded: &Unbounded{MaxUsers: 9},
		}, 20, "sizing.steps"},
	} {
		if n, key := tt.plan.MostUsers(); n != tt.n || key != tt.key {
			t.Errorf("%d of %s, want %d of %s", n, key, tt.n, tt.key)
		}
	}
}
