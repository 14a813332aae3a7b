// Package remote sends the samples of a run to an outside server, by version 1.0 of Prometheus'
// remote write protocol (protobuf of prompb, snappy block format, HTTP POST).
//
// # Never in the way
//
// [Sender.Offer] is called where samples are stored, and neither blocks nor fails. Samples that do
// not fit into the bounded queue, that the server refuses, or that could not be delivered in time
// are lost to the outside server, and counted; the run's own series have it.
//
// # Delivery
//
// One goroutine sends batches in order, each as soon as it is full or a second old. Network errors,
// status 429 and 5xx are tried again with growing pauses (Retry-After is heeded) until the batch's
// deadline; other statuses end the batch at once, as the protocol requires. Redirects are not
// followed, because they would carry credentials elsewhere.
//
// # Secrets
//
// Credentials are never part of an error or of a text. An address with a user, or anything in its
// query, is printed without them.
package remote
