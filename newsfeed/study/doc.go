// Package study sets runs of a news feed beside the figures that the study of one service on MySQL,
// PostgreSQL and in containers has published (2016), and reports which of them reproduce.
//
// # Sentences
//
// Every sentence is made of the runs' numbers. A published ratio of two variants stands beside the
// ratio of ours, which is the geometric mean over the blocks with a 95 % interval (t, on
// logarithms, paired within blocks); the published ones are of one run each and have none. The
// conclusion depends on that interval alone: whether it holds the published ratio, and whether it
// holds no difference.
//
// # Little's law
//
// In a closed loop each of N users is always in one request or between two, so throughput times
// mean response is at most N. [Law] checks that for every run, with a tolerance that follows from
// the edges of the measured time, and the same for the service's own telemetry, whose requests lie
// within those of the users. The rest of N is the users' own time.
//
// # Out of scope
//
// How runs are carried out, judged or drawn, and the nature of the service and its stores: its
// caller supplies that, in words. It reads no clock and starts no goroutine.
package study
