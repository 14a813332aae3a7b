// Package script is the behavior of users whose actions are a script of k6's shape: functions in
// JavaScript or TypeScript that call the host for requests, checks and pauses.
//
// # A script
//
// A script exports a default function, or actions with weights of which each user draws one before
// each iteration, and may export options, setup, teardown and audit. It imports modules of the host:
// k6, k6/http, k6/data, k6/ws and plimsoll. What it is made of comes as a bundle in [workload.Env],
// so that the package reads no files.
//
// # Realms
//
// Each user has a realm: a runtime of its own with the script's values. Nothing that a script
// changes is seen by another user or by the host. Users share the compiled program, the data of
// SharedArray, and the setup's result as text.
//
// One goroutine at a time is in a realm, the holder of its lock. The user's own goroutine takes the
// lock for an iteration and lets it go only inside a host call that waits (a request, sleep): see
// [realm.out]. A goroutine that reads one of the user's sockets takes the lock for each call of a
// handler ([realm.handle]), so handlers run between and during waits of the user's own code, and
// never beside it. A handler keeps the lock while its own host calls wait, because calls in a
// runtime end in the opposite order of their beginning; the user's own code then goes on late, and
// its next operation is intended when the handler's last one was done.
//
// # Modules
//
// A module is a host object: its members are made when the script first asks for one and cannot be
// changed ([moduleOf] has the table). The host calls no function that a script can replace; what it
// needs of the language it takes before the script runs.
//
// # Names
//
// An operation is named by the tag "name" of its request, or by method and path with identifiers
// replaced ("GET /posts/{id}"). Iterations, checks and groups have series of their own, see
// [workload.OfScript]. A run has at most 200 names of each kind; the others are "other".
//
// # Failures
//
// A failure of the target is never an exception: the response has status 0 and an error. An
// exception is a fault of the script: its iteration has the class script, and the user goes on after
// a rest of 100 ms.
package script
