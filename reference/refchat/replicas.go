package refchat

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// readersKey marks the context of a request whose statements may read from a replica.
type readersKey struct{}

// readers are the operations that only read although their method is not GET.
var readers = []string{"getUsersByIds", "getUsersByNames", "getUserStatusesByIds", "searchUsers",
	"searchChannelsForTeam", "searchAllChannels",
	"searchGroupChannels", "searchPostsInTeam", "searchPostsInAllTeams", "getRolesByNames"}

// reads reports whether a request only reads, so that a replica may answer it.
func (q *request) reads() bool {
	return q.r.Method == http.MethodGet && q.route.name != "connectWebSocket" ||
		slices.Contains(readers, q.route.name)
}

// fromReplica returns a context whose statements read from a replica, where there is one.
func fromReplica(ctx context.Context) context.Context {
	return context.WithValue(ctx, readersKey{}, true)
}

// fromMaster returns a context whose statements read from the database that is written to.
func fromMaster(ctx context.Context) context.Context {
	if ctx.Value(readersKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, readersKey{}, false)
}

// replica returns the store to read from by a statement outside transactions, in turn; nil for the
// one that is written to.
func (st *store) replica(ctx context.Context, text string) *store {
	if st.tx != nil || len(st.replicas) == 0 || !strings.HasPrefix(text, "SELECT") {
		return nil
	}
	if may, _ := ctx.Value(readersKey{}).(bool); !may {
		return nil
	}
	st.met.replicaReads.Inc()
	return st.replicas[st.turn.Add(1)%uint64(len(st.replicas))]
}

// openReplicas connects to the replicas, with at most maxOpen connections to each.
func (st *store) openReplicas(ctx context.Context, dsns []string, maxOpen int) error {
	for i, dsn := range dsns {
		db, eng, err := openDB(ctx, dsn, maxOpen)
		if err != nil {
			return fmt.Errorf("replica %d: %w", i, err)
		}
		st.replicas = append(st.replicas, &store{pool: &pool{
			db:     db,
			eng:    eng,
			faults: st.faults,
			met:    st.met,
			later:  st.later,
		}})
		if eng != st.eng {
			return fmt.Errorf(
				"replica %d: it is a %s, and the database a %s",
				i,
				eng.name,
				st.eng.name,
			)
		}
	}
	return nil
}

// plant sets the faults of the statements.
func (st *store) plant(f *faults) {
	st.faults = f
	for _, r := range st.replicas {
		r.faults = f
	}
}

// close closes the connections.
func (st *store) close() {
	st.db.Close()
	for _, r := range st.replicas {
		r.db.Close()
	}
}
