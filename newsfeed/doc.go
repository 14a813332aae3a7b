// Package newsfeed is a client of the news feed service in both generations of its interface, and
// the behavior of its simulated users.
//
// # The batch
//
// A poster repeats the batch of the study's public load application, without pause: ten new
// participants of one random name; three of them, drawn with replacement, befriend each of two or
// three others, drawn with replacement; each of those posts ten stories of 150 random words.
// Nothing is ever used again, and nothing is read. In the mean that is 10 participants : 6.75
// friendships : 25 stories, which go to 2.74 friends (3.56, where a friendship that was made twice
// counts twice). A request that fails ends its batch; the next begins 100 ms later. [Params] lists
// the presets, which vary this.
//
// A searcher searches for one random word after the other. The user's number decides whether it
// searches: the study's application drew it at its start, so that the same settings were different
// loads.
//
// # Operations
//
// participant, befriend, story and search, see [Ops]; calls of provisioning and of the audit begin
// with "setup_". An answer that does not show the effect is of class decode, one that is not 200 of
// class 4xx or 5xx.
//
// With a rate of arrivals each arrival is one batch, whose requests follow each other as in the
// closed loop.
//
// # The audit
//
// After a run, the acknowledged stories are looked for where they belong: in the sender's outbound
// and in the inbound of each friend. A story that one of them lacks is missing.
//
// # Out of scope
//
// Time (the engine schedules), plans, runs and verdicts, the stores behind the service, and every
// other server.
package newsfeed
