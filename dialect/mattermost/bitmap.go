package mattermost

// A bitmap is a set of small numbers. Its zero value is empty.
type bitmap []uint64

func (m bitmap) has(i uint32) bool { return int(i/64) < len(m) && m[i/64]&(1<<(i%64)) != 0 }

func (m *bitmap) add(i uint32) {
	if w := int(i / 64); w >= len(*m) {
		// Exactly as long as it must be, in steps: thousands of users hold several of these each.
		grown := make(bitmap, w+1+w/8)
		copy(grown, *m)
		*m = grown
	}
	(*m)[i/64] |= 1 << (i % 64)
}
