// Package examples has the tests of the example plans and of the scripts beside them.
package examples
