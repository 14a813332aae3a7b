package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// A group is the part of the study that a variant belongs to.
type group string

// The groups, in the order of the page.
const (
	functions  group = "function"
	statement  group = "statement"
	renamings  group = "names"
	nothingNew group = "nothing"
)

// A variant is a build that differs from the base in a known way: the truth that an attribution is
// compared with.
type variant struct {
	Group group  `json:"group"`
	Name  string `json:"name"`
	// Function is where work was added; empty if nowhere. Amount is the share of all CPU time of
	// the base.
	Kind     string  `json:"kind"` // of the function, of the statement's change, or of the renaming
	Function string  `json:"function,omitempty"`
	Work     work    `json:"work,omitempty"`
	Amount   float64 `json:"amount,omitempty"`
	// change changes the source apart from work; script the database of a server that starts.
	change func(root string, s source) error
	script string
	// texts are parts of a statement that changed, as they stand in its text: one of them is in
	// the right statement.
	texts []string
}

// planted are the functions by kind, each with the works of its amounts.
var planted = []struct{ kind, functions, works string }{
	{"JSON", "jsonText (*request).replyAs appendJSON (*request).decode", "loop json loop json"},
	{"SQL layer", "(*store).begin (*store).prepare (*store).query (*store).savePost",
		"loop strings loop sort"},
	{"hub and WebSocket", "(*hubShard).send (*wsSocket).writeNumbered (*hubShard).offer newEvent",
		"loop loop loop strings"},
	{"hashing", "(*Server).session newID authToken (*request).notModified",
		"sha256 sha256 sha256 sha256"},
	{"cache", "(*cache[...]).drop (*cache[...]).get (*cache[...]).shard (*cache[...]).through",
		"loop loop loop loop"},
	{"leaf of many callers", "validID millis errStore (*request).param", "loop loop loop loop"},
	{"hot caller", "(*request).createPost (*Server).publishPost (*Server).ServeHTTP (*request).handle",
		"loop sort loop json"},
	{"closure", "(*Server).storePost.func1 (*store).savePost.func1 (*hub).deliver.func2 (*query[...]).rows.func1",
		"loop json loop loop"},
	{"generic", "(*query[...]).list (*query[...]).rows encoded[...].Scan textMap[...]",
		"loop sort loop loop"},
	{"method", "(*router).find (*metrics).storeObserver (*audience).mentioned (*bus).send",
		"loop strings loop json"},
}

// amounts are the shares of the base's CPU time.
var amounts = [4]float64{0.01, 0.02, 0.05, 0.1}

// aa is how many variants are the base itself.
const aa = 20

// variants are all of the study, in the order in which they are measured: each of them is a slot,
// from 1 on. The order is drawn once.
func variants() []variant {
	var all []variant
	for _, p := range planted {
		works := strings.Fields(p.works)
		for i, name := range strings.Fields(p.functions) {
			all = append(all, variant{
				Group: functions, Kind: p.kind, Function: name, Work: work(works[i]), Amount: amounts[i],
				Name: fmt.Sprintf("%g %% in %s, %s", 100*amounts[i], name, works[i]),
			})
		}
	}
	all = append(all, changedStatements()...)
	all = append(all, renamed()...)
	for range aa {
		const same = "the base itself"
		all = append(all, variant{Group: nothingNew, Kind: same, Name: same})
	}
	rng := rand.New(rand.NewPCG(38, 0))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// changedStatements are the variants of statements.
func changedStatements() []variant {
	edit := func(file, old, text string) func(string, source) error {
		return func(_ string, s source) error { return s.replace(file, old, text) }
	}
	all := []variant{
		{Kind: "dropped index", Name: "no index of a channel's posts by time",
			script: "DROP INDEX IF EXISTS idx_posts_channel_id_delete_at_create_at; DROP INDEX IF EXISTS idx_posts_channel_id_update_at",
			texts:  []string{"p.channelid ="}},
		{Kind: "dropped index", Name: "no index of a user's memberships",
			script: "DROP INDEX IF EXISTS idx_channelmembers_user_id",
			texts:  []string{"from channelmembers where userid", "m.userid ="}},
		{Kind: "a query for each row", Name: "acknowledgements, post by post",
			change: edit("posts.go", "acks, err := acknowledgements.list(ctx, s.st, roots)",
				`var acks []*acknowledgement
	for _, id := range roots {
		var more []*acknowledgement
		if more, err = acknowledgements.list(ctx, s.st, []string{id}); err != nil {
			break
		}
		acks = append(acks, more...)
	}`),
			texts: []string{"from postacknowledgements"}},
		{Kind: "a query for each row", Name: "files, post by post",
			change: edit("filestore.go", "list, err := filesForPosts.list(ctx, st, posts)",
				`var list []*fileInfo
	var err error
	for _, id := range posts {
		var more []*fileInfo
		if more, err = filesForPosts.list(ctx, st, []string{id}); err != nil {
			break
		}
		list = append(list, more...)
	}`),
			texts: []string{"from fileinfo"}},
		{Kind: "a statement more", Name: "posts of the author counted for each post",
			change: edit("poststore.go", "	isRoot := p.RootID == \"\"\n",
				`	isRoot := p.RootID == ""
	var own int64
	if err := st.row(ctx, []any{&own}, "SELECT COUNT(*) FROM posts a WHERE a.userid = ? AND a.deleteat = 0", p.UserID); err != nil {
		return err
	}
`),
			texts: []string{"from posts a where a.userid"}},
		{Kind: "wider rows", Name: "users with thirty times their settings",
			change: edit(
				"userstore.go",
				"COALESCE(b.description, '')",
				"COALESCE(b.description, repeat(u.notifyprops, 30))",
			),
			texts: []string{"from users u"}},
		{Kind: "stale statistics", Name: "all posts are thought to be in one channel",
			script: `ALTER TABLE posts SET (autovacuum_enabled = false);
				UPDATE pg_statistic SET stadistinct = 1, stakind1 = 0, stanumbers1 = NULL, stavalues1 = NULL
				WHERE starelid = 'posts'::regclass AND staattnum = (SELECT attnum FROM pg_attribute
				WHERE attrelid = 'posts'::regclass AND attname = 'channelid')`,
			texts: []string{"p.channelid ="}},
		{Kind: "no limit", Name: "all users in place of a page",
			change: edit(
				"userstore.go",
				`usersFirst = " ORDER BY u.username LIMIT ?"`,
				`usersFirst = " ORDER BY u.username OFFSET ? * 0"`,
			),
			texts: []string{"lower(u.username) like"}},
		{Kind: "an index that cannot be used", Name: "files by lower(id)",
			change: edit(
				"filestore.go",
				`"FileInfoStore.Get", "WHERE id = ?`,
				`"FileInfoStore.Get", "WHERE lower(id) = ?`,
			),
			texts: []string{"from fileinfo where lower"}},
		{Kind: "a subquery", Name: "members counted at each permission check",
			change: edit(
				"channelstore.go",
				"ts.defaultchanneluserrole, '')",
				"ts.defaultchanneluserrole, (SELECT COUNT(*) FROM channelmembers x WHERE x.channelid = m.channelid)::text)",
			),
			texts: []string{"from channelmembers m join channels c"}},
	}
	for i := range all {
		all[i].Group = statement
	}
	return all
}

// Names in the arms that are renamed.
const (
	movedPath   = "reference/server/refchat"
	nextVersion = "/v2"
	oldMethod   = "createPost"
	newMethod   = "makePost"
)

// renamed are the variants whose functions have other names than those of the base, with work and
// without.
func renamed() (all []variant) {
	for _, k := range []struct {
		kind, function string
		change         func(root string, s source) error
	}{
		{"version of the module", "(*Server).publishPost", func(root string, s source) error {
			return s.version(root, nextVersion)
		}},
		{"moved package", "(*store).query", func(_ string, s source) error {
			s.move(movedPath)
			return nil
		}},
		{"renumbered closures", "(*hub).deliver.func2", func(_ string, s source) error {
			fn, err := s.find("(*hub).deliver")
			if err != nil {
				return err
			}
			return s.insert(insertion{fn, "before := func() bool { return h.s == nil }\nif before() {\nreturn\n}"})
		}},
		{"renamed method", "(*request)." + oldMethod, func(_ string, s source) error {
			return s.rename(oldMethod, newMethod)
		}},
	} {
		for _, amount := range []float64{0, 0.02, 0.05} {
			v := variant{
				Group:  renamings,
				Kind:   k.kind,
				Name:   k.kind + ", nothing more",
				change: k.change,
			}
			if amount > 0 {
				v.Function, v.Work, v.Amount = k.function, workLoop, amount
				v.Name = fmt.Sprintf("%s, %g %% in %s", k.kind, 100*amount, k.function)
			}
			all = append(all, v)
		}
	}
	return all
}

// symbol is the whole name of the function with added work in the new build.
func (v variant) symbol() string {
	pkg, name := module+"/"+serverPath, v.Function
	if v.Function == "" {
		return ""
	}
	if v.Group == renamings {
		switch v.Kind {
		case "version of the module":
			pkg = module + nextVersion + "/" + serverPath
		case "moved package":
			pkg = module + "/" + movedPath
		case "renumbered closures":
			name = "(*hub).deliver.func3"
		case "renamed method":
			name = strings.Replace(name, oldMethod, newMethod, 1)
		}
	}
	return pkg + "." + name
}

// A calibration is what is known of the base and of the works before anything is planted.
type calibration struct {
	Setting    string             `json:"setting"`
	Operations float64            `json:"operations"`
	CPU        float64            `json:"cpu_s"` // of the server, for these operations
	Calls      map[string]float64 `json:"calls"` // of each function, for these operations
	Costs      map[work]float64   `json:"costs"` // CPU seconds of one repeat
}

// leastRepeats is the smallest number of repeats in a call; with fewer the amount would be another
// one by more than a tenth.
const leastRepeats = 4

// repeats returns how many repeats of its work a variant has in each call, so that all calls take
// its amount of the CPU time of the base.
func (v variant) repeats(c calibration) (int, error) {
	if v.Function == "" {
		return 0, nil
	}
	calls, each := c.Calls[v.Function], c.Costs[v.Work]
	if calls < 20 || !(each > 0) || !(c.CPU > 0) {
		return 0, fmt.Errorf(
			"%s: %g calls of %s in the calibration, want 20 or more",
			v.Name,
			calls,
			v.Function,
		)
	}
	n := math.Round(v.Amount * c.CPU / (calls * each))
	if n < leastRepeats {
		return 0, fmt.Errorf(
			"%s: %g repeats of %s in a call, want %d or more",
			v.Name,
			n,
			v.Work,
			leastRepeats,
		)
	}
	return int(n), nil
}

// planted is the CPU time for one operation that so many repeats take.
func (v variant) planted(c calibration, repeats int) float64 {
	if repeats == 0 {
		return 0
	}
	return float64(repeats) * c.Calls[v.Function] * c.Costs[v.Work] / c.Operations
}

// source makes the source of the variant.
func (v variant) source(root string, repeats int) (source, error) {
	s, err := readSource(root)
	if err != nil {
		return nil, err
	}
	s.program(v.script)
	if repeats > 0 {
		fn, err := s.find(v.Function)
		if err != nil {
			return nil, err
		}
		if err := s.addWork(fn, v.Work, repeats); err != nil {
			return nil, err
		}
	}
	if v.change != nil {
		err = v.change(root, s)
	}
	return s, err
}
