package session

import (
	"context"
	"errors"
	"slices"

	"plimsoll/load/clock"
	"plimsoll/record"
	"plimsoll/run/audience"
	"plimsoll/run/deploy"
	"plimsoll/run/health"
	"plimsoll/run/health/sources"
	"plimsoll/run/trial"
	"plimsoll/run/users"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// A run is one run under way. Its parts share what they make.
type run struct {
	*Session
	RunPart
	sys      *deploy.System
	commands []byte // the output of the plan's commands before the run
	lay      users.Layout
	clock    *clock.Clock
	w        *record.Writer
	aud      *audience.Viewers

	db     *series.DB
	stuck  *health.SeriesWatch
	turns  *probe.Turns // nil: all time is the run's
	shares *health.Shares
	runner *probe.Runner
	// stopSampling ends the sampling of the sources; again, it returns the same.
	stopSampling func() error
	statements   *sources.Statements // nil: none are counted
	gates        *health.GateReader
	signals      *health.Signals
	panics       *health.RunPanics
	population   *users.Population
	received     users.Receipt
	crashes      *health.CrashLog
	profiles     *sources.Profiles // nil: it is not profiled
	spec         trial.Config      // each part sets what is its own
	exceptions   users.Exceptions  // of a script

	out      trial.Outcome
	seen     users.Received
	findings []record.Finding
	closers  []func() error
}

// A part of a run begins before the trial and ends after it; either may be nil. What it opens it
// gives to [run.closing], and what it finds it adds to the findings of the run.
type part struct {
	begin, end func(ctx context.Context, r *run) error
}

// parts are the parts of every run, in the order in which they begin. They end in the opposite
// order. A part that concerns some runs only does nothing in others.
var parts = []part{
	{end: writeStatements}, // when no run of the block is measured any more
	{end: readReceived},    // what the other runs of a duet do until then is among the counts
	{end: writeProfiles},
	{begin: beginTurns, end: yieldPlace},
	{end: readStamps},
	{end: findInPopulation},
	{begin: writeCommands},
	{begin: openSeries, end: findUnwritten},
	{begin: publishSeries},
	{begin: openSources, end: findUnequalShares},
	{begin: watchBacklog},
	{begin: readHealth},
	{begin: catchPanics, end: findPanics},
	{begin: startUsers, end: finishUsers},
	{begin: sampleSources},
	{begin: testUsers},
	{begin: findLevel},
	{begin: testInTurns},
	{begin: profileTarget},
	{begin: countStatements, end: endStatements}, // it also hears of phases
	{begin: watchDisk},
	{begin: countReceived},
	{end: findRestarts},
	{begin: watchCrashes, end: findCrashes},
	{end: readTelemetry},
}

// carryOut carries out the trial with its parts.
func (r *run) carryOut(ctx context.Context) (err error) {
	defer func() {
		for _, end := range slices.Backward(r.closers) {
			err = errors.Join(err, end())
		}
	}()
	for _, p := range parts {
		if p.begin == nil {
			continue
		}
		if err := p.begin(ctx, r); err != nil {
			return err
		}
	}
	r.out, err = trial.Run(ctx, r.spec)
	for _, p := range slices.Backward(parts) {
		if p.end != nil {
			err = errors.Join(err, p.end(ctx, r))
		}
	}
	return errors.Join(err, r.note())
}

// closing has a function called when the run has ended, in the opposite order of the calls.
func (r *run) closing(end func() error) { r.closers = append(r.closers, end) }

// found adds findings of the run.
func (r *run) found(f ...record.Finding) { r.findings = append(r.findings, f...) }

// event adds a line to the events of the run.
func (r *run) event(kind, text string) error {
	return r.w.Event(record.Event{At: r.clock.Now(), Kind: kind, Text: text})
}

// note enters the findings in the validity of the run and in its events.
func (r *run) note() (err error) {
	for _, f := range append(sources.ClockFindings(r.runner), r.findings...) {
		r.out.Validity.Add(f)
		e := f.Event()
		e.At = r.clock.Now()
		err = errors.Join(err, r.w.Event(e))
	}
	return err
}
