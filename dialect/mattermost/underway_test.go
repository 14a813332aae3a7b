package mattermost

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// A server that stands still in its WebSocket handlers when the phase ends: the operation that
// waits for it is under way until it was answered.
func TestOperationsOfTheWebSocketAreUnderWay(t *testing.T) {
	for _, stalls := range []string{"websocket", "typing"} {
		t.Run(stalls, func(t *testing.T) {
			asked := make(chan struct{})
			answer := make(chan struct{})
			url := socketServer(t, func(c *websocket.Conn, send func(string)) {
				stall := func(op string) {
					if op == stalls {
						close(asked)
						<-answer
					}
				}
				stall("websocket")
				send(hello)
				for {
					var req struct{ Seq int }
					if c.ReadJSON(&req) != nil {
						return
					}
					stall("typing")
					send(fmt.Sprintf(`{"status":"OK","seq_reply":%d}`, req.Seq))
				}
			})
			reg := measure.NewRegistry(1)
			epoch := time.Now()
			u := workload.NewUser(0, 0, 1, 1, reg.Recorder(0), clock.New(epoch))
			c, err := api.NewClient(api.Options{URL: url, Token: "tok", Timeout: 10 * time.Second,
				Recorder: u, Table: api.NewTable(reg, "")})
			noError(t, err)
			defer c.Close()
			ended := make(chan error)
			go func() {
				u.Schedule(u.Now())
				s, err := c.Connect(t.Context())
				if err == nil {
					defer s.Close()
					go func() {
						for err := error(nil); err == nil; {
							_, err = s.Next(t.Context())
						}
					}()
					err = c.Typing(t.Context(), s, "c", "")
				}
				ended <- err
			}()
			<-asked
			reg.Mark(time.Since(epoch))
			if n := reg.Open(); n != 1 {
				t.Errorf(
					"%d operations are under way while the server stands still in %s, want 1",
					n,
					stalls,
				)
			}
			close(answer)
			noError(t, <-ended)
			reg.Mark(time.Since(epoch))
			if n := reg.Open(); n != 0 {
				t.Errorf("%d operations are under way after the last answer", n)
			}
		})
	}
}

// A call that an event or the clock starts is under way as all others are, until it was answered or
// its person has gone; a run that is cut off leaves it so.
func TestCallsBehindAreUnderWay(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(answer, gone, cut func())
		want int // under way afterwards
	}{
		{"answered", func(answer, _, _ func()) { answer() }, 0},
		{"the person leaves", func(_, gone, _ func()) { gone() }, 0},
		{"the run is cut off", func(_, gone, cut func()) {
			cut()
			gone()
		}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := make(chan struct{})
			answer := make(chan struct{})
			addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
				close(asked)
				select {
				case <-answer:
				case <-r.Context().Done():
				}
			})
			reg := measure.NewRegistry(1)
			epoch := time.Now()
			u := workload.NewUser(0, 0, 1, 1, reg.Recorder(0), clock.New(epoch))
			run, cut := context.WithCancel(t.Context())
			defer cut()
			life, gone := context.WithCancelCause(run)
			defer gone(nil)
			table := api.NewTable(reg, "")
			a := &person{
				b:          &Person{},
				u:          u,
				connection: connection{life: life},
				steady:     table,
				pool: pool{
					budget: 2,
					cfg: api.Options{
						URL:      addr,
						Token:    "tok",
						Timeout:  10 * time.Second,
						Table:    table,
						Recorder: u,
					},
				},
			}
			defer a.pool.close()
			a.behind(0, func(ctx context.Context, c *api.Client) { _, _ = c.Channel(ctx, "c") })
			<-asked
			reg.Mark(time.Since(epoch))
			if n := reg.Open(); n != 1 {
				t.Errorf("%d operations are under way, want 1", n)
			}
			tt.end(func() { close(answer) }, func() { gone(errGone) }, cut)
			a.wg.Wait()
			reg.Mark(time.Since(epoch))
			if n := reg.Open(); n != tt.want {
				t.Errorf("%d operations are under way afterwards, want %d", n, tt.want)
			}
		})
	}
}
