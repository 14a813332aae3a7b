package stats

// budgetLevels are the nominal two-sided levels of [BudgetLooks], rounded down: of four million
// simulated sequences of 30 equal pairs, the share alpha·ln(1+(e-1)·t) is crossed by |t| when the
// share t of the pairs is there. It comes close to the levels of Pocock and spends early; the
// function of O'Brien and Fleming's type would leave one in 85,000 for a look at a fifth of the
// pairs, which no six pairs can reach. The levels for normal means with a known spread would spend
// 5.4 %, because t of six pairs and of nine agree less than such means do. A test simulates them
// again.
//
// Source: Lan, DeMets, Biometrika 70 (1983).
var budgetLevels = [...]float64{
	0.01476,
	0.00949,
	0.00942,
	0.00984,
	0.01046,
	0.01090,
	0.01126,
	0.01176,
	0.01220,
}

// BudgetLooks returns the planned looks of a comparison that goes on until it is decided or its
// time is over: after 6, 9, 12 and so on up to 30 pairs. Their levels together are 5 %
// ([FixedAlpha]). A comparison that ends before the last of them, for any reason, has spent no more
// than that: fewer looks err less often.
func BudgetLooks() []PlannedLook {
	out := make([]PlannedLook, len(budgetLevels))
	for i, alpha := range budgetLevels {
		out[i] = PlannedLook{Pairs: MinPairs + 3*i, Alpha: alpha}
	}
	return out
}
