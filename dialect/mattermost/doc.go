// Package mattermost is a client of Mattermost's API v4 and the behaviors of its simulated users.
//
// # Operations
//
// Each call of a [Client] records one op; [Ops] lists the names of the steady state. "typing" lasts from the request on the WebSocket
// to its reply. "websocket" is a reconnection during the run; a lost connection and a gap in its events count there as class ws. What a
// user does before its first action is recorded as "login" (the password call alone) and "login_" + name, provisioning as "setup_" +
// name. The series "delivery" is described in package workload.
//
// # Classes
//
// A status that is not the one that the call asks for is 4xx or 5xx; one that is neither, and an answer that does not show the
// effect (the id of the new post, for example), is decode. An op cut off by the end of the run is not recorded.
//
// # Behaviors
//
// poster is the user of a self-hoster's Locust file: it waits 4 to 6 s, then posts (24 of 25 times) or uploads a text file
// of about 100 bytes and posts that; all users share a bot's token. mattermost is a person with a WebSocket, modeled after
// mattermost-load-test-ng's SimulController: it draws its actions from a mix ([Mixes]). Each action is a function of the
// person's chance and of what it sees, and each is proven: [Verify] carries it out with the code that a load uses and
// shows its effect through another client.
//
// # What persons know
//
// A client of the real server keeps copies of users, channels and posts. Here, one directory per run and process holds them once; a
// person keeps pointers and bitmaps. Of a channel that it has loaded it sees the newest 60 posts. What the server says was deleted is
// forgotten, whoever did it.
//
// Left out of load-test-ng's actions: the shorter second look at a thread that servers since 10.8 offer (updatesOnly), and the
// WebSocket's presence message for threads.
//
// # Goroutines and connections
//
// A person has the engine's goroutine and one that reads its WebSocket; what an event or the minute's clock sets off runs on a
// goroutine that ends with the call, at most one at a time. One HTTP connection stays open at rest; calls that go out together take
// more, up to the person's budget, and give them back. A WebSocket that is lost is resumed by connection id and sequence number.
//
// # Storms
//
// login, reconnect, mention and join: see [Person.StormKinds]. Their series begin with "storm_" and the kind.
//
// # Provisioning
//
// Provision logs in as administrator, creates what is missing (the administrator itself on an empty server, a team, channels,
// a bot, users) and finds what is there, by name. It works the same on a real server and on package refchat. [Params] lists the
// settings, [Secrets] the secrets.
//
// # What it refuses to know
//
// Time (the engine schedules), plans, runs and verdicts, and every other server.
package mattermost
