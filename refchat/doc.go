// Package refchat is the reference chat server: a real, small server that speaks a subset of Mattermost's API v4
// and its WebSocket, on PostgreSQL or MySQL/MariaDB, so that a load test has something honest to measure on any machine.
//
// It is a server and nothing else. It shares no code with the clients that drive it (two readings of one wire format; a
// shared codec would share its bug) and refuses to know plans, runs, users' behaviors or verdicts.
//
// # Statements per post
//
// Creating a post does the work of the real server (5.37), statement by statement, with warm caches (session, user, team,
// permissions, profiles and notify properties of the channel):
//
//	always            SELECT channels (each post drops the channel from the cache, as there)
//	                  BEGIN; INSERT posts; COMMIT
//	                  UPDATE channels (last_post_at and the two message counters)
//	open channel      SELECT outgoingwebhooks (after the answer)
//	author is a user  SELECT channelmembers; SELECT unread mentions (is there a push notification to clear?)
//	                  UPDATE channelmembers as viewed: one CTE on PostgreSQL, SELECT + UPDATE on MySQL
//	reply             SELECT the thread's posts, of which the root; SELECT threads; INSERT or UPDATE threads (in the post's
//	                  transaction); UPDATE the root's update_at; SELECT the reply count; per follower found
//	                  (author, root's author, mentioned): SELECT membership; BEGIN; SELECT; INSERT or UPDATE; COMMIT
//	mention           UPDATE channelmembers, one per mentioned user
//	files             UPDATE fileinfo per file; SELECT the post's files
//	every 120 s       UPDATE status of the author; every 300 s UPDATE sessions
//
// A bot's root post in a private channel is thus five round trips, a user's in an open channel nine or ten. Durability, isolation and all server
// settings stay at the vendor's defaults.
//
// # Concurrency
//
// One goroutine per HTTP connection (net/http), two per WebSocket (reader, writer), one per hub shard, one per peer.
// Every connection has a bounded queue; a consumer that lets it fill is disconnected, and what it lost is counted.
// Several servers on one database exchange events and cache invalidations over a TCP bus of their own (see bus.go); the
// bus has no authentication and belongs on a loopback or private network.
//
// # Faults
//
// [CheckFault] lists what can be broken on purpose, so that a checker can be shown to find it.
package refchat
