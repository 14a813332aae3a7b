// Package sizing grades the load steps of a machine and derives how many users it carries.
//
// [Size] gives each step of a ladder a [Grade] by a fixed rule ([GradeOf]), names the comfortable
// and the largest number of users, the bottleneck as far as the steps show one ([FindBottleneck]),
// and the cost of a user on the machines of a price list. A step that is not valid carries no
// grade, and between steps nothing is interpolated.
package sizing
