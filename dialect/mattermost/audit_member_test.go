package mattermost

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
	"plimsoll/reference/refchat"
)

// nineEleven refuses an administrator as release 9.11 does, and counts bots.
func nineEleven() refchat.Config {
	return refchat.Config{Version: "9.11.0",
		License: "professional"}
}

// wroteDirectly has a person write in a direct and a group channel and returns the acknowledged
// messages and the persons.
func wroteDirectly(
	t *testing.T, url, password string,
) (*Person, workload.Env, []workload.AckedMessages) {
	t.Helper()
	env := contractEnv(url, password)
	b := &Person{}
	noError(t, b.Provision(t.Context(), env, 4))
	a := arrived(t, b, env, 0)
	for _, do := range []func(*act) error{createPost, createDirect, createDirect,
		createDirect, createGroup} {
		noError(t, do(&act{t.Context(), a}))
	}
	acked, _ := env.Ledger.Messages()
	if len(acked) != 5 {
		t.Fatalf("messages of %d channels, want 5: %+v", len(acked), acked)
	}
	return b, env, acked
}

// sessionEnded returns persons of whom the first has a session that has ended.
func sessionEnded(b *Person) *Person {
	return &Person{set: b.set, found: found{accounts: accounts{IDs: []string{""},
		Tokens: []string{"ended00000000000000000000a"}}}}
}

func messages(acked []workload.AckedMessages) (n int) {
	for _, m := range acked {
		n += len(m.IDs)
	}
	return n
}

// An administrator may not read direct and group channels of others on every release: the audit
// reads them as a member, with the session that the person has, with a new one where that has
// ended, and as the persons of another behavior.
func TestAuditReadsAsAMember(t *testing.T) {
	url, password := reference(t, "postgresql", nineEleven())
	b, env, acked := wroteDirectly(t, url, password)
	over := sessionEnded(b)
	for name, auditor := range map[string]workload.Auditor{"person": b, "sessions that ended": over,
		"poster": &Poster{set: b.set}} {
		r, err := auditor.Audit(t.Context(), env, acked)
		if err != nil || r.Readable != messages(acked) || r.Missing != 0 || r.NotAudited != 0 {
			t.Errorf("%s: %+v, %v; want all %d readable", name, r, err, messages(acked))
		}
	}
	for i := range acked {
		acked[i].IDs = append(acked[i].IDs, anID) // never written
	}
	r, err := b.Audit(t.Context(), env, acked)
	if err != nil || r.Readable != messages(acked)-5 || r.Missing != 5 || r.NotAudited != 0 {
		t.Errorf("%+v, %v; want 5 missing", r, err)
	}
}

// A message that no account may read is counted as not audited, with the reason: the server is not
// accused of having lost it, and the audit goes on.
func TestNotAuditedIsNotLost(t *testing.T) {
	url, password := reference(t, "postgresql", nineEleven())
	b, env, acked := wroteDirectly(t, url, password)
	s := newSetup(t.Context(), &env, b.set)
	noError(t, s.asAdmin())
	direct := 0 // messages of channels of which the administrator is not a member
	for _, m := range acked {
		var members []string
		err := s.with(func(c *api.Client) (err error) {
			members, err = c.ChannelMembers(t.Context(), m.Channel, 0, 100)
			return err
		})
		noError(t, err)
		if len(m.Readers) > 0 && !slices.Contains(members, s.admin) {
			direct += len(m.IDs)
		}
	}
	if direct == 0 || direct == messages(acked) {
		t.Fatalf("%d of %d messages are closed to the administrator", direct, messages(acked))
	}
	env.Secret = func(name string) string { // the persons' password has changed
		return map[string]string{"admin_password": password, "user_password": "Another-1"}[name]
	}
	for name, auditor := range map[string]workload.Auditor{
		"no session and another password": &Poster{set: b.set},
		"a session that ended":            sessionEnded(b),
	} {
		r, err := auditor.Audit(t.Context(), env, acked)
		if err != nil || r.Missing != 0 || r.NotAudited != direct ||
			r.Readable != messages(acked)-direct {
			t.Errorf("%s: %+v, %v; want %d not audited", name, r, err, direct)
		}
		if why := strings.Join(r.Refusals, " "); !strings.Contains(why, "status 403") ||
			!strings.Contains(why, "as a member: login: status 401") {
			t.Errorf("%s: refusals %q", name, why)
		}
	}
}

// On a release that keeps the administrator from direct channels and counts bots as users, no
// action is accused.
func TestVerifyOnNineEleven(t *testing.T) {
	url, password := reference(t, "postgresql", nineEleven())
	allProven(t, VerifyConfig{URL: url, Password: password,
		Only: []string{"create_direct_channel", "create_group_channel", "generate_user_report"}}, 3)
	// A bot is an account that the statistics count there.
	env := contractEnv(url, password)
	s := newSetup(t.Context(), &env, settings{admin: "sysadmin", bot: "verify-bot"})
	noError(t, s.asAdmin())
	if _, _, err := s.bot(); err != nil {
		t.Fatal(err)
	}
	allProven(t, VerifyConfig{
		URL:      url,
		Password: password,
		Only:     []string{"generate_user_report"},
	}, 1)
}
