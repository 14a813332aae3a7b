// Package server is the reference news feed: participants, their friendships, stories that go out
// to friends, and search by keyword, over the five kinds of store that such a service is usually
// built on.
//
// It is a server and nothing else. It shares no code with the clients that drive it and does not
// know plans, runs, users' behaviors or verdicts. Its model is the public study of one service in
// many languages (clojure-news-feed).
//
// # Interfaces
//
// Two generations of one HTTP surface, with forms or JSON as bodies:
//
//	                    legacy                   REST
//	create participant  POST /participant/new    POST /participant
//	read participant    GET /participant/{id}    GET /participant/{id}
//	befriend            POST /friends/new        POST /participant/{id}/friends
//	list friends        GET /friends/{id}        GET /participant/{id}/friends
//	post story          POST /outbound/new       POST /participant/{id}/outbound
//	own stories         GET /outbound/{id}       GET /participant/{id}/outbound
//	received stories    GET /inbound/{id}        GET /participant/{id}/inbound
//	search              POST /outbound/search    GET /outbound?keywords=WORD
//
// The first speaks of participants by number, the second by link ("/participant/7"); both
// understand both. A success is always 200. A legacy friendship is answered with both participants,
// which costs two reads through the cache. GET /health describes each store, and names with 503
// those that cannot be used now; GET /rows counts the rows of each; GET /metrics is for Prometheus.
//
// # Stores
//
//	database  PostgreSQL or MySQL/MariaDB, through four routines in it; both foreign keys of friendships have an index
//	cache     Redis: participants and lists of friends, read before the database and filled by readers
//	wide      one row per story for its sender, and one for each friend
//	search    an index of the stories' words, without their subjects
//	bus       one telemetry record per request, failures too, in microseconds
//
// For the last three this package has small stores of its own, separate processes that speak TCP
// ([Store]), and clients of Cassandra, OpenSearch and Kafka: the address selects one.
//
// # A story
//
// A story is acknowledged when all of this is done, one after the other: the friends are read, the
// row of the sender is written, one row per friend, and the index has the story (with
// [IndexCommit], searchable already). When a store fails, the client gets an error; a story that
// got an error may be there in part, one that got a 200 is there whole.
//
// # Who may reach it
//
// The service has no password, as the studied one had none: an address beyond loopback is for a
// network of trust. Profiles (/debug/pprof/) are for the same host alone.
//
// # Faults
//
// Every call to a store has a deadline. A store that cannot be reached or refuses is answered with
// 503, one that is too slow with 504, one that is full (a database without room on its disk, too)
// with 507, always with the store's role in the answer. The cache is not an exception: a server
// that quietly did without it would be measured as another server. The bus is: telemetry is sent
// behind the requests, kept for a while when the bus is gone, and counted where it was lost. A
// cached list of friends that could not be dropped is not used until it was. All connections are
// made again when a store is back.
//
// # Concurrency
//
// One goroutine per HTTP connection (net/http), one for telemetry. Several servers may share all
// stores; then a list of friends that one of them was just reading may be cached over another's
// invalidation.
package server
