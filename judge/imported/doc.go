// Package imported reads and writes tables of numbers that another tool measured.
//
// [ReadCSV] reads the pairs of one endpoint, [ReadTable] those of several endpoints and databases. Errors name lines and columns
// ([CSVError]). The verdict on the numbers is that of package verdict; package comparison passes them on.
package imported
