package mattermost

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

// Accounts that were there before the run may be somebody's: their posts and scheduled posts from
// before are neither edited nor deleted nor sent. Those of accounts that plimsoll made are.
func TestWhatAnAccountHadStays(t *testing.T) {
	const scheduled = `{"id":"%s","channel_id":"c","message":"m","scheduled_at":%d}`
	for _, adopted := range []bool{false, true} {
		var mu sync.Mutex
		var changed []string
		addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			path := r.URL.Path[len("/api/v4"):]
			mu.Lock()
			defer mu.Unlock()
			switch r.Method + " " + path {
			case "POST /posts":
				w.WriteHeader(http.StatusCreated)
				io.WriteString(w, `{"id":"new","create_at":7,"channel_id":"c"}`)
			case "GET /posts/scheduled/team/t":
				fmt.Fprintf(w, `{"t":[`+scheduled+`]}`, "old", 9)
			case "POST /posts/schedule":
				w.WriteHeader(http.StatusCreated)
				fmt.Fprintf(w, `{"id":"new",%s`, body[1:])
			default:
				changed = append(changed, r.Method+" "+path)
				if path == "/posts/schedule/new" || path == "/posts/schedule/old" {
					io.WriteString(w, `{"id":"`+path[len("/posts/schedule/"):]+`"}`)
				} else {
					io.WriteString(w, `{"status":"OK"}`)
				}
			}
		})
		a := lone(t, &workload.Env{URL: addr}, settings{})
		b := a.b
		if adopted {
			b.Rows = []workload.Account{{Login: "me"}}
			b.Names = []string{"me"}
		}
		ch := b.dir.channel(api.Channel{ID: "c", Type: "O", TeamID: "t"})
		a.team = "t"
		a.places = []place{{ch: ch}}
		a.current = 0
		b.dir.see(ch, api.Seen{ID: api.ParseID("old"), UserID: api.ParseID("me"), CreateAt: 1})
		a.begin(a.steady)
		want := []string{"DELETE /posts/old", "DELETE /posts/schedule/old"}
		if adopted {
			want = []string{"DELETE /posts/new", "DELETE /posts/schedule/new"}
			if err := deletePost(&act{t.Context(), a}); !errors.Is(err, errNoOwnPost) {
				t.Errorf("without a post of the run: %v", err)
			}
			noError(t, (&act{t.Context(), a}).post(ch, api.Draft{Message: "m"}))
		}
		if err := deletePost(&act{t.Context(), a}); err != nil {
			t.Errorf("adopted %v: deleting a post: %v", adopted, err)
		}
		if err := deleteScheduledPost(&act{t.Context(), a}); err != nil {
			t.Errorf("adopted %v: deleting a scheduled post: %v", adopted, err)
		}
		if mu.Lock(); !slices.Equal(changed, want) {
			t.Errorf("adopted %v: %v, want %v", adopted, changed, want)
		}
		mu.Unlock()
		a.Close()
	}
}
