// Package api is a client of Mattermost's API v4 and its WebSocket, which records one op for each
// call.
//
// # Operations
//
// Each call of a [Client] records one op; [Ops] lists the names of the steady state. "typing" lasts
// from the request on the WebSocket to its reply. "websocket" is a reconnection during the run; a
// lost connection and a gap in its events count there as class ws. A user's calls before its first
// action are recorded as "login" (the password call alone) and "login_" + name, provisioning as
// "setup_" + name. The series "delivery" is described in package workload.
//
// # Classes
//
// A status that is not the one that the call asks for is 4xx or 5xx; one that is neither, and an
// answer that does not show the effect (the id of the new post, for example), is decode. An op cut
// off by the end of the run is not recorded.
//
// # Adding a call
//
// A call is a row (newOp: name, method with path, traits) and a function beside it, which names the
// values of the path, the body and what the answer must hold: get, send, do or pageOf with a
// decoder such as listOf, holding, member, idIn or shown. TestEveryCallProvesItsEffect wants a row
// for it, with the answers that are right.
//
// # Out of scope
//
// Who calls, why and when: behaviors, provisioning and proofs are built on it.
package api
