// Package profile samples the call stacks of the processes of a target, without asking it.
package profile
