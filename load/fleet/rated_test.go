package fleet

import (
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// Two hosts with two processes each and the ratings 3 to 1 have 15 and 5 of 20 users, and count what one process counts.
func TestHostsByRating(t *testing.T) {
	var want counts
	for _, ratings := range [][]int{nil, {9000, 3000}} {
		t.Run(fmt.Sprint(ratings), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := new(hosts)
				var d *RemoteDriver
				var cfg Config
				users := []int{20}
				if ratings != nil {
					d, cfg = leadHosts(t, h, len(ratings), 2, buildRated(&channel{}, -1, ratings))
					users = []int{8, 3, 7, 2} // processes of the hosts in turn
				} else {
					cfg = Config{Epoch: time.Now().Add(time.Second), Settings: same("9"), Registry: measure.NewRegistry(1), Tally: new(workload.Tally), Ledger: workload.NewLedger(0, 9)}
					links(1, &cfg, build(&channel{}, -1))
					var err error
					if d, err = New(t.Context(), cfg); err != nil {
						t.Fatal(err)
					}
				}
				got := conductAll(t, d, cfg, 20, func(second int) {
					if second != 10 {
						return
					}
					var active []int
					for _, a := range d.agents {
						active = append(active, a.last.Active) // no report is under way
					}
					if !reflect.DeepEqual(active, users) {
						t.Errorf("the processes have %v users, want %v", active, users)
					}
				})
				for range ratings {
					if err := <-h.served; err != nil {
						t.Error(err)
					}
				}
				if ratings == nil {
					want = got
					return
				}
				if n := sum(got.Say); n < 200 || got.Ledger.Lost != 0 || got.Ledger.Seen < 19*got.Ledger.Acked-20*20 {
					t.Errorf("%+v", got)
				}
				got.Delivered, got.P50 = want.Delivered, want.P50 // those between processes come one tick later
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%+v\nwant %+v", got, want)
				}
			})
		})
	}
}
