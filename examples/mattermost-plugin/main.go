// Command mattermost-plugin is plimsoll whose persons also use a plugin: their clients read its
// boards when they start and the board of each channel that they enter, and now and then a person
// votes. Run it as plimsoll, with a plan of the behavior mattermost.
package main

import (
	"context"
	"os"

	"plimsoll"
	"plimsoll/dialect/mattermost"
)

const plugin = "/plugins/com.example.boards/api/v1"

func main() {
	os.Exit(plimsoll.Main(plimsoll.Service{Dialect: mattermost.With(boards)}))
}

// boards is the plugin's load.
var boards = mattermost.Extension{
	Ops: []string{"boards", "board", "vote"},
	Login: func(ctx context.Context, m *mattermost.Participant) error {
		return m.Call(ctx, "boards", "GET", plugin+"/teams/"+m.TeamID(), nil, nil)
	},
	Channel: func(ctx context.Context, m *mattermost.Participant) error {
		return m.Call(ctx, "board", "GET", plugin+"/boards/"+m.ChannelID(), nil, nil)
	},
	Actions: []mattermost.Extra{{Name: "vote_on_board", Weight: 0.2, Do: vote}},
}

// vote makes the plugin post in the current channel: its delivery is measured as any post's.
func vote(ctx context.Context, m *mattermost.Participant) error {
	if m.ChannelID() == "" {
		return mattermost.Skip("no channel is open")
	}
	var posted struct{ ID string }
	in := map[string]int{"card": m.Rand().IntN(10)}
	err := m.Call(ctx, "vote", "POST", plugin+"/boards/"+m.ChannelID()+"/votes", in, &posted)
	if err == nil {
		m.Posted(m.ChannelID(), posted.ID)
	}
	return err
}
