// Package symbols finds the functions that addresses of a program belong to.
package symbols
