package stats

// TrigammaInverse is tested against limma by itself.
var TrigammaInverse = trigammaInverse
