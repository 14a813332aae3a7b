package mattermost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/measure"
)

// endless is a server whose lists have a full page of 200 that was never there before, whichever is
// asked for.
func endless(t *testing.T) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	one := `{"id":"x","username":"x","user_id":"x","channel_id":"x"}`
	rest := strings.Repeat(","+one, 200-1) + "]"
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		switch {
		case strings.HasSuffix(r.URL.Path, "/thread"):
			fmt.Fprint(w, `{"order":[],"posts":{},"has_next":true}`)
		case strings.HasPrefix(r.URL.Path, "/api/v4/users/"): // memberships are of one user
			io.WriteString(w, "["+one+rest)
		default:
			fmt.Fprintf(w, `[{"id":"f%d","username":"x","user_id":"f%[1]d"}%s`, n, rest)
		}
	})
	return addr, asked
}

// TestListsEndWhateverTheServerSays: functions that read a list to its end request a bounded number
// of pages.
func TestListsEndWhateverTheServerSays(t *testing.T) {
	for name, read := range map[string]func(ctx context.Context, c *api.Client) error{
		"reload": func(ctx context.Context, c *api.Client) error { return allPages(ctx, c, "x") },
		"storm": func(ctx context.Context, c *api.Client) error {
			_, err := findOrMake(ctx, c, "t", "name")
			return err
		},
		"report": func(ctx context.Context, c *api.Client) error {
			return generateUserReport(&act{ctx, &person{b: &Person{}, c: c}})
		},
		"provisioning": func(ctx context.Context, c *api.Client) error {
			_, err := lacking([]string{"a", "b", "f7"}, func(page int) ([]string, error) {
				return c.TeamMembers(ctx, "t", page, pageSize)
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := endless(t)
			c := newTestClient(t, url)
			err := read(t.Context(), c)
			if e, ok := errors.AsType[*api.OpError](err); !ok || e.Class != measure.Decode {
				t.Errorf("error %v, want one of class decode", err)
			}
			if n := asked.Load(); n != 5000 {
				t.Errorf("%d pages were read, want %d", n, 5000)
			}
		})
	}
}

// TestMembersAreReadAsFarAsNeeded: the reading of members ends with the list, with the last one
// that is looked for, and with a page that was there before.
func TestMembersAreReadAsFarAsNeeded(t *testing.T) {
	page := func(first string) []string {
		ids := []string{first}
		for len(ids) < pageSize {
			ids = append(ids, "other")
		}
		return ids
	}
	for name, c := range map[string]struct {
		users []string
		pages [][]string
		found int
		asked int
	}{
		"the end":          {[]string{"a", "z"}, [][]string{page("a"), {"b"}}, 1, 2},
		"an empty page":    {[]string{"a", "z"}, [][]string{page("a"), {}}, 1, 2},
		"all found":        {[]string{"a", "b"}, [][]string{page("a"), page("b"), page("c")}, 2, 2},
		"the page ignored": {[]string{"z"}, [][]string{page("a"), page("a"), page("a")}, 0, 2},
		"nobody":           {nil, [][]string{page("a"), page("b")}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			lack, err := lacking(c.users, func(page int) ([]string, error) {
				asked++
				return c.pages[page], nil
			})
			if found := len(c.users) - len(lack); err != nil || found != c.found || asked != c.asked {
				t.Errorf("%d found on %d pages, %v; want %d on %d", found, asked, err, c.found, c.asked)
			}
		})
	}
}
