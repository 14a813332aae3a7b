package main

// notMet are the rows that do not hold yet, with the reason. The suite fails when one of them
// holds: it is to be removed then. A row that holds only sometimes belongs here only with a
// condition under which it always fails.
var notMet = map[string]string{}
