package dataset

// words is the size of the vocabulary, as in the list of the release teams' load test.
const words = 9895

// vocabulary is a list of different pronounceable words of 2 to 15 letters, 7.5 on average.
type vocabulary struct{ list []string }

func newVocabulary() *vocabulary {
	const consonants, vowels = "bcdfghjklmnprstvwz", "aeiou"
	v := &vocabulary{list: make([]string, 0, words)}
	seen := make(map[string]bool, words)
	for n := uint64(0); len(v.list) < words; n++ {
		r := newStream(0, kindWord, n)
		size := 2 + r.below(4) + r.below(4) + r.below(6)
		b := make([]byte, 0, 16)
		for vowel := r.below(3) == 0; len(b) < size; vowel = !vowel {
			from := consonants
			if vowel {
				from = vowels
			}
			b = append(b, from[r.below(len(from))])
			if !vowel && len(b) > 1 && len(b) < size && r.below(6) == 0 {
				b = append(b, from[r.below(len(from))])
			}
		}
		if w := string(b); !seen[w] {
			seen[w] = true
			v.list = append(v.list, w)
		}
	}
	return v
}

func (v *vocabulary) word(k int) string { return v.list[k] }

// appendWords appends n words with spaces between them.
func (v *vocabulary) appendWords(dst []byte, r *stream, n int) []byte {
	for i := range n {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, v.list[r.zipf(words)]...)
	}
	return dst
}

func capital(w string) string { return string(w[0]-'a'+'A') + w[1:] }

// Emojis are the names that texts and reactions use.
var Emojis = []string{"smile", "+1", "heart", "tada", "eyes", "fire", "rocket", "clap", "wave",
	"ok_hand", "thinking", "100"}

// links are the addresses in texts; no server answers there.
var links = []string{
	"https://example.com/", "https://example.com/wiki/release-notes",
	"https://example.org/issues/20999", "https://example.org/build/latest.html",
	"https://www.example.com/watch?v=a1b2c3d4e5f", "https://www.example.com/watch?v=z9y8x7w6v5u",
	"https://docs.example.net/guide/install.html",
}
