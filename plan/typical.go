package plan

// Typical is the statistic of endpoints such as typical(op): the shift of response times, each
// kind of operations against itself. It is a number of a pair of runs, and its margin is one of
// their ratio.
const Typical = "typical"

// Text returns the words for the endpoint in a sentence: "typical response time of all operations"
// for typical(op); its name where it has no such words.
func (e Endpoint) Text() string {
	switch {
	case e.Stat != Typical:
		return e.Name
	case e.Of == "op":
		return "typical response time of all operations"
	case e.Of == "delivery":
		return "typical time of a delivery"
	default:
		return "typical response time of " + e.Of
	}
}
