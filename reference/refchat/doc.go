// Package refchat is the reference chat server: a real, small server that speaks a subset of
// Mattermost's API v4 and its WebSocket, on PostgreSQL or MySQL/MariaDB, so that a load test has
// something honest to measure on any machine.
//
// It is a server and nothing else. It shares no code with the clients that drive it (two readings
// of one wire format; a shared codec would share its bug) and does not know plans, runs, users'
// behaviors or verdicts.
//
// # Statements per post
//
// Creating a post does the work of the real server (5.37, no license), statement by statement, with
// warm caches (session, user, permissions, members of the channel); from version 7.0 on (see
// Config.Version) collapsed threads are always on, the default of those releases. A user's root
// post in an open channel then takes ten:
//
//	 1  SELECT channels               each post drops the channel from the cache, there as here
//	 2  SELECT channelmembers         joined with channels, teams and schemes: may the author mention the channel?
//	 3  BEGIN, INSERT posts, COMMIT   three statements; eleven indexes, two of them full text
//	 6  UPDATE channels               last_post_at and two counters, outside the transaction
//	 7  SELECT teams
//	 8  SELECT channelmembers         as 2; then the event goes out
//	 9  UPDATE channelmembers         the author has seen it: one CTE on PostgreSQL, SELECT + UPDATE on MySQL
//	10  SELECT outgoingwebhooks       meanwhile; in open channels only
//
// Before 7.0 the author's threads in the channel are marked as read, too: a SELECT and an UPDATE of
// threadmemberships, twelve in all. A bot's post marks nothing as viewed (9 statements). A mention
// adds three per mentioned user. A reply adds the SELECT of its root, the SELECT of the whole
// thread (each row with a subquery that counts replies: quadratic in the thread, there as here), in
// the transaction SELECT and UPDATE (or INSERT) of the thread's row, UPDATE of the root, a count of
// replies, and per follower (author, root's author, mentioned) one SELECT and a transaction of
// SELECT and INSERT or UPDATE. Files add one UPDATE each and a SELECT. With collapsed threads a
// reply also queries the followers, and for each of them for the membership and the thread with its
// unread replies, for an event of its own. A priority adds one INSERT, or two. Status (every 120 s)
// and session (every 300 s) of the author are written in addition.
//
// Reading posts adds to the posts themselves one statement for the whole threads of replies, one
// for files, one for reactions (each if there are any), two for priorities and acknowledgements of
// roots (as since 7.7), and two for the cursors. The inbox of threads takes three for its totals
// and one for a page. A search of posts takes one for words and one for hashtags, each over the
// full-text index (GIN on PostgreSQL, FULLTEXT on MySQL), and one per name in a modifier; as there,
// its words that InnoDB does not index are left out on MySQL, it finds at most 100, and has no
// second page. Unlike there, a search that the database fails is an error.
// TestStatementsPerOperation checks this account against the executed statements.
//
// Other than the real server, this one prepares statements once per connection (there: twice the
// round trips) and keeps idle connections. Durability, isolation and all server settings stay at
// the vendor's defaults.
//
// # Concurrency
//
// One goroutine per HTTP connection (net/http), two per WebSocket (reader, writer), one per hub
// shard, one per peer. Every connection has a bounded queue; a consumer that lets it fill is
// disconnected, and its lost events are counted.
//
// # Reliable WebSockets
//
// Of releases since 5.38, a connection outlives its socket by five minutes, as on the real server.
// A client that comes back with connection_id and the sequence_number that it wants next gets the
// missed events, as long as they are among the last 128 events that were sent and the queue of 256
// did not overflow; there is no hello then. Otherwise a hello with another id and the number 0
// shows that events were lost. Another server of the same database does not know the connection.
//
// # Several servers
//
// Several servers on one database exchange events and cache invalidations over a TCP bus of their
// own (see bus.go); the bus has no authentication and belongs on a loopback or private network.
//
// # Replicas
//
// With replicas ([Config].DSNReplicas) the statements of requests that only read go to them in
// turn: every GET, and the searches and lists that are POST. Requests that write read from the
// database that they write to, whole: posts, reactions, views, memberships. So do transactions, the
// events of WebSockets, logins, and whatever fills a cache of this server: sessions, users, teams,
// channels, roles, statuses. So a client that has joined, or was changed, is known at once by the
// server that it did it on and by its peers; a post is in the lists of posts when the replica has
// it. The real server also reads its lists from replicas and begins writes on the master, an entry
// of the cache of users on the master after it was dropped, and a session there if the replica does
// not have it; entries of its other caches come from a replica, and may be old. It uses replicas
// with a license alone; this one does with each.
//
// # Who may reach it
//
// An address beyond loopback needs a password of the administrator's own: with the default one,
// which is written here, New refuses it, also where an earlier server has made the account with it.
// Profiles (/debug/pprof/) are for the same host; others give the administrator's name and password
// by HTTP Basic. Metrics are open to every client that reaches the address.
//
// # Releases and licenses
//
// The server plays a release of the real one and a license ([Config].Version, License). Operations
// that came with a later release are not there, switches in the client's configuration are those of
// the release, and operations of a higher license are refused with the status and the identifier
// that the real server uses for it. So a test can show that a client detects the features of a
// server. Not played are the release's plugins, guests, schemes, groups, and everything that only
// administrators configure. What releases do differently with the same operation comes with the
// version, too, as far as it is known which of them do: who may read a direct channel, whether bots
// count as users, whether others see when a member has looked, whether a WebSocket can be resumed.
// The first three are quirks ([Config].Quirks), which can be had with any version.
//
// # Faults
//
// [CheckFault] lists the faults that can be planted, so that a checker can be shown to find it.
package refchat
