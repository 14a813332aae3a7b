package workload_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/gorilla/websocket"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
)

// oneUser returns what the engine hands to NewActor.
func oneUser(url string) (workload.Env, *workload.User) {
	reg := measure.NewRegistry(1)
	env := workload.Env{URL: url, Timeout: 10 * time.Second, Registry: reg,
		Ledger: workload.NewLedger(0, 1)}
	return env, workload.NewUser(0, 0, env.Seed, 1, reg.Recorder(0), clock.New(time.Now()))
}

// One call makes a request, proves its effect and records it. A failure of the server is an
// operation of its class, and the behavior goes on.
func ExampleCaller() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/basket" {
			http.Error(w, "no more room", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, `{"price": 12}`)
	}))
	defer srv.Close()
	env, u := oneUser(srv.URL)
	var cast workload.Cast // a behavior embeds one
	c, err := cast.Caller(env, u)
	if err != nil {
		panic(err)
	}
	defer c.Close()

	ctx := context.Background()
	var shown struct{ Price int }
	_, err = c.Do(ctx, "look", &wire.Request{Path: "/things/7"}, func(body []byte) error {
		if err := json.Unmarshal(body, &shown); err != nil {
			return err
		}
		if shown.Price == 0 {
			return errors.New("the page has no price")
		}
		return nil
	})
	fmt.Println(shown.Price, err)
	_, err = c.Do(ctx, "buy", &wire.Request{Method: "POST", Path: "/basket"}, nil)
	fmt.Println(err)

	var ops []string
	for _, w := range env.Registry.Cut() {
		ops = append(ops, fmt.Sprintf("%s: %s", w.Name, workload.Failures(w, nil)))
	}
	slices.Sort(ops)
	fmt.Printf("%q\n", ops)
	// Output:
	// 12 <nil>
	// buy: status 503 "no more room" (5xx)
	// ["buy: 5xx 1" "http_503 buy: 5xx 1" "look: "]
}

// A message is one operation from its sending to the event with the server's id. The ledger knows
// who should get it, who got it, and when.
func ExampleEventSocket() {
	var up websocket.Upgrader
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		for { // this server repeats all that it reads
			kind, data, err := ws.ReadMessage()
			if err != nil || ws.WriteMessage(kind, data) != nil {
				return
			}
		}
	}))
	defer srv.Close()
	env, u := oneUser(srv.URL)
	s := new(workload.Cast).EventSocket(env, u)
	defer s.Close()
	s.Path = "/chat"
	s.Heard = func(data []byte, at time.Time) {
		var e struct{ Room, ID, Ref string }
		_ = json.Unmarshal(data, &e)
		s.Seen(e.Room, e.ID, e.Ref, at)
		s.Answer(e.Ref, e.ID, at)
	}

	ctx := context.Background()
	if err := s.Open(ctx, workload.Login); err != nil {
		panic(err)
	}
	err := s.Post(ctx, "say", workload.Message{Channel: "hall", Pending: "mine-1"},
		[]byte(`{"room": "hall", "id": "1", "ref": "mine-1"}`))
	fmt.Println(err, env.Ledger.Count().Acked)
	// Output: <nil> 1
}
