package refchat_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// outside makes a POST beside the API, without a session.
func (c *client) outside(path, body string) answer {
	c.t.Helper()
	req, err := http.NewRequest("POST", c.url+path, strings.NewReader(body))
	noError(c.t, err)
	anon := *c
	anon.token = ""
	return anon.do(req)
}

func TestWebhook(t *testing.T) {
	onWorlds(t, func(t *testing.T, w *world) {
		w.ann.forbidden("POST", "/hooks/incoming", obj{"channel_id": w.channel})
		hook := w.admin.made("/hooks/incoming",
			obj{"channel_id": w.channel, "display_name": "builds"})
		w.admin.gives(200, "GET", "/hooks/incoming?team_id="+w.team, nil, "#", 1, "0.id", hook,
			"0.display_name", "builds", "0.channel_id", w.channel, "0.user_id", w.admin.id)
		w.ann.forbidden("GET", "/hooks/incoming?team_id="+w.team, nil)
		w.admin.badURL("GET", "/hooks/incoming", nil)

		bob := w.bob.dial()
		a := w.ann.outside("/hooks/"+hook, `{"text":"green","props":{"n":"1","override_username":"x"}}`)
		if a.status != 200 || string(a.body) != "ok" {
			t.Fatalf("%d %s", a.status, a.body)
		}
		p := bob.about("posted", "post")
		holds(t, "the event", p, "message", "green", "user_id", w.admin.id, "channel_id", w.channel,
			"props.from_webhook", "true", "props.webhook_display_name", "builds", "props.n", 1,
			"props.#", 3)
		w.bob.shows("/posts/"+idOf(p), "message", "green", "props.from_webhook", "true")

		other := w.admin.made("/channels",
			obj{"team_id": w.team, "name": "hold", "display_name": "Hold", "type": "O"})
		w.cabin()
		locked := w.admin.made("/hooks/incoming",
			obj{"channel_id": w.channel, "channel_locked": true})
		for body, want := range map[string]int{
			`{"text":"to another","channel":"hold"}`: 200,
			`{"text":"nowhere","channel":"none"}`:    404,
			`{"text":"closed","channel":"cabin"}`:    403,
			`{"text":""}`:                            400,
			`{`:                                      400,
		} {
			if a := w.ann.outside("/hooks/"+hook, body); a.status != want {
				t.Errorf("%s: %d %s", body, a.status, a.body)
			}
		}
		if a := w.ann.outside("/hooks/"+locked, `{"text":"x","channel":"hold"}`); a.status != 403 {
			t.Errorf("a locked hook: %d %s", a.status, a.body)
		}
		if a := w.ann.outside("/hooks/"+w.channel, `{"text":"x"}`); a.status != 400 ||
			!bytes.Contains(a.body, []byte("web.incoming_webhook.invalid.app_error")) {
			t.Errorf("no hook: %d %s", a.status, a.body)
		}
		w.admin.shows("/channels/"+other+"/posts", "order.#", 1)
		// Nothing of it is below the API, and nothing of the API beside it.
		for _, path := range []string{"/hooks/" + hook + "/x", "/hooks/", "/users/login"} {
			if a := w.ann.outside(path, `{"text":"x"}`); a.status != 404 {
				t.Errorf("%s: %d %s", path, a.status, a.body)
			}
		}
		if a := w.ann.outside("/api/v4/hooks/"+hook, `{"text":"x"}`); a.status != 404 {
			t.Errorf("below the API: %d %s", a.status, a.body)
		}
	})
}

func TestCommands(t *testing.T) {
	w := plainWorld(t)
	run := func(command string) obj { return obj{"channel_id": w.channel, "command": command} }
	ann, bob := w.ann.dial(), w.bob.dial()
	for command, want := range map[string][2]string{
		"/me waves":        {"*waves*", "me"},
		"/SHRUG who knows": {`who knows ¯\\\_(ツ)\_/¯`, ""},
		"/code a\nb":       {"    a\n    b", ""},
	} {
		w.ann.gives(200, "POST", "/commands/execute", run(command), "response_type", "in_channel",
			"text", want[0], "type", want[1], "trigger_id", some)
		p := bob.about("posted", "post")
		holds(t, command, p, "message", want[0], "type", want[1], "user_id", w.ann.id)
		w.bob.shows("/posts/"+idOf(p), "message", want[0])
	}
	w.ann.gives(200, "POST", "/commands/execute", run("/code"), "response_type", "ephemeral")
	holds(t, "only to its user", ann.about("ephemeral_message", "post"), "user_id", w.ann.id,
		"channel_id", w.channel)
	if bob.count(1, "ephemeral_message") != 0 {
		t.Error("another user was told")
	}
	w.ann.fails(404, "api.command.execute_command.not_found.app_error", "POST",
		"/commands/execute", run("/dance"))
	w.ann.fails(400, "api.command.execute_command.start.app_error", "POST",
		"/commands/execute", run("dance"))
	w.addUser("eve").forbidden("POST", "/commands/execute", run("/me lurks"))
}
