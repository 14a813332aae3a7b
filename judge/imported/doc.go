// Package imported reads tables of numbers that another tool measured.
//
// [ReadTable] reads the pairs of several endpoints and databases. Errors name lines and columns
// ([CSVError]). The verdict on the numbers is that of package verdict; package comparison passes
// them on.
package imported
