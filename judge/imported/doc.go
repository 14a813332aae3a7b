// Package imported reads tables of numbers that another tool measured.
//
// [ReadTable] reads the pairs of several endpoints and databases. Errors name lines and columns
// ([CSVError]). Package verdict judges the numbers; package comparison passes
// them on.
package imported
