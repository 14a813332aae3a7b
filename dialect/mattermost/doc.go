// Package mattermost is the dialect of servers of the Mattermost family: [Dialect] is its one
// value. It holds the behaviors of the simulated users; the client that they speak through is
// package mattermost/api.
//
// # Behaviors
//
// poster is the user of a self-hoster's Locust file: it waits 4 to 6 s, then posts (24 of 25 times)
// or uploads a text file of about 100 bytes and posts that; all users share a bot's token.
// mattermost is a person with a WebSocket, modeled after mattermost-load-test-ng's SimulController:
// it draws its actions from a mix ([Mixes]). Each action is a function of the person's chance and
// of what it sees, and each is proven: [Verify] carries it out with the code that a load uses and
// shows its effect through another client.
//
// # Adding an action
//
// An action is a row in the file of its theme, act_*.go, a function that carries it out and behind
// it one that proves it. The row has the weight in the default mix, the feature that the server
// needs, and the server's handlers that count for an imported mix.
//
// # What persons know
//
// A client of the real server keeps copies of users, channels and posts. Here, one directory per
// run and process holds them once; a person keeps pointers and bitmaps. Of a channel that it has
// loaded it sees the newest 60 posts. Posts that the server reports as deleted are forgotten.
//
// Left out of load-test-ng's actions: the shorter second look at a thread that servers since 10.8
// offer (updatesOnly), and the WebSocket's presence message for threads.
//
// # Goroutines and connections
//
// A person has the engine's goroutine and one that reads its WebSocket; a call that an event or the
// minute's clock starts runs on a goroutine that ends with the call, at most one at a time. One
// HTTP connection stays open at rest; calls that go out together take more, up to the person's
// budget, and give them back. A WebSocket that is lost is resumed by connection id and sequence
// number.
//
// # Storms
//
// login, reconnect, mention and join: see [Person.StormKinds]. Their series begin with "storm_" and
// the kind.
//
// # Provisioning
//
// An account comes from a file, is made by Provision or is made by its person (accounts.go).
// Provision logs in as administrator, creates missing objects (the administrator itself on an empty
// server, a team, channels, a bot, users) and finds existing ones, by name. It works the same on a
// real server and on package refchat. [Params] lists the settings, [Secrets] the secrets.
//
// # Out of scope
//
// Time (the engine schedules), plans, runs and verdicts, and every other server.
package mattermost
