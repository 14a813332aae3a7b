// Package dumps makes the dumps that databases under test begin with: of generated data, of a
// script of SQL, of the state directory of a stopped server, and of a running server.
//
// A dump holds the files of a database server, so that a reset copies files instead of loading
// rows. Package dump defines its format. Package dumps starts database servers for the time of the
// work only, deploys nothing, and measures nothing.
package dumps
