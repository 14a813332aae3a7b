// Package drift finds what changes in the course of one run.
//
// [FindDrift] reports of each [Signal] whether it rises, falls, levels off or stays, and for what
// the run was too short. The package reads no clock and no file.
package drift
