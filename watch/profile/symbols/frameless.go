package symbols

// Frameless reports whether a function of a Go program has no frame on its stack at an address: its
// caller's address is at the top of the stack then, and a walk by frame pointers passes over its
// caller. So it is in most functions of assembly, and in every function at its first instruction.
func (t *SymbolTable) Frameless(addr uint64) bool {
	if t.golang == nil {
		return false
	}
	t.golang.m.short = false
	f, ok := t.golang.find(addr)
	const stackTable = 12 // offset of pcsp: bytes on the stack since the call
	return ok && f.value(t.golang.m.uint(f.rest+stackTable, 4), addr) == 0
}
