package mattermost

import (
	"slices"

	"plimsoll/dialect/mattermost/api"
)

// createSidebarCategory groups the current channel and at most two others of the team, and reads
// the new sidebar.
func createSidebarCategory(a *act) error {
	name := fewWords(a.content, 2)
	cat := api.Category{Name: name[:min(len(name), 20)], Type: "custom"}
	for k, p := range a.places {
		if a.inTeam(p) && (k == a.current || len(cat.Channels) < 2 && a.pick.IntN(4) == 0) {
			cat.Channels = append(cat.Channels, p.ch.key)
		}
	}
	if _, err := a.c.CreateCategory(a, a.id, a.team, cat); err != nil {
		return err
	}
	_, err := a.c.Categories(a, a.id, a.team)
	return err
}

// proveCreateSidebarCategory shows that another device finds one more section, with the current
// channel in it.
func proveCreateSidebarCategory(s *stage) {
	before, n := s.sidebar()
	s.act()
	after, m := s.sidebar()
	ch := s.actor.here()
	disproved(m != n+1 || after[ch] == before[ch],
		"%d sections, before there were %d; the current channel is in %s", m, n, after[ch])
}

// updateSidebarCategory drags a channel of the team into another section, and reads the new
// sidebar.
func updateSidebarCategory(a *act) error {
	cats, err := a.c.Categories(a, a.id, a.team)
	if err != nil {
		return err
	}
	type spot struct{ cat, at int }
	var from []spot // channels that may be moved
	var to []int    // sections that take them
	for k := range cats {
		if cats[k].Type == "direct_messages" {
			continue
		}
		to = append(to, k)
		for i := range cats[k].Channels {
			from = append(from, spot{k, i})
		}
	}
	if len(from) == 0 || len(to) < 2 {
		return errNoChannel
	}
	s := one(a.pick, from)
	to = slices.DeleteFunc(to, func(k int) bool { return k == s.cat })
	src := &cats[s.cat]
	dst := &cats[one(a.pick, to)]
	dst.Channels = append([]string{src.Channels[s.at]}, dst.Channels...)
	src.Channels = slices.Delete(src.Channels, s.at, s.at+1)
	if err := a.c.UpdateCategories(a, a.id, a.team, []api.Category{*src, *dst}); err != nil {
		return err
	}
	_, err = a.c.Categories(a, a.id, a.team)
	return err
}

// proveUpdateSidebarCategory shows that another device finds one channel, and only that, in another
// section.
func proveUpdateSidebarCategory(s *stage) {
	before, _ := s.sidebar()
	s.act()
	after, _ := s.sidebar()
	moved := 0
	for ch, cat := range before {
		if after[ch] != cat {
			moved++
		}
	}
	disproved(moved != 1 || len(after) != len(before),
		"%d channels are in another section, want 1; %d channels, before there were %d", moved,
		len(after), len(before))
}

// sidebar returns the section of each of the actor's channels as another device sees it, and how
// many sections there are.
func (s *stage) sidebar() (in map[string]string, n int) {
	c := s.device()
	defer c.Close()
	in = map[string]string{}
	cats := must(c.Categories(s, s.actor.id, s.actor.team))
	for _, cat := range cats {
		for _, ch := range cat.Channels {
			in[ch] = cat.ID
		}
	}
	return in, len(cats)
}
