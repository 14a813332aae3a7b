package main

import (
	"regexp"
	"strings"
)

// A prose counts words and three habits in them.
type prose struct {
	words, what, who, tell int
}

var (
	wordRE     = regexp.MustCompile(`[A-Za-z][A-Za-z'’-]*`)
	sentenceRE = regexp.MustCompile(`[.!?:;]\s+|\n\s*\n|\n\s*[-|#]`)
	whatRE     = regexp.MustCompile(`(?i)\bwhat\b(\s+(?:if|to)\b)?`)
	whoRE      = regexp.MustCompile(`(?i)\b(?:nobody|somebody|whoever|whom)\b`)
	tellRE     = regexp.MustCompile(`(?i)\b(?:says|tells|told)\b`)
)

// add counts the words of a text.
func (p *prose) add(text string) {
	p.words += len(wordRE.FindAllString(text, -1))
	p.who += len(whoRE.FindAllString(text, -1))
	p.tell += len(tellRE.FindAllString(text, -1))
	from := 0
	for from < len(text) {
		to := len(text)
		if m := sentenceRE.FindStringIndex(text[from:]); m != nil {
			to = from + m[1]
		}
		if sentence := text[from:to]; !strings.HasSuffix(strings.TrimSpace(sentence), "?") {
			for _, m := range whatRE.FindAllStringSubmatch(sentence, -1) {
				if m[1] == "" {
					p.what++
				}
			}
		}
		from = to
	}
}

// per returns n per 1,000 words.
func (p *prose) per(n int) float64 {
	if p.words == 0 {
		return 0
	}
	return 1000 * float64(n) / float64(p.words)
}

var (
	fenceRE    = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	writtenRE  = regexp.MustCompile(`(?s)<!-- .*?<!-- end[^>]*-->`)
	markRE     = regexp.MustCompile(`(?s)<!--.*?-->`)
	codeSpanRE = regexp.MustCompile("`[^`\n]*`")
	targetRE   = regexp.MustCompile(`\]\([^)]*\)`)
)

// words returns the text of a Markdown file without code, link targets and the parts that a program writes.
func words(markdown string) string {
	text := fenceRE.ReplaceAllString(markdown, "\n")
	text = writtenRE.ReplaceAllString(text, "\n")
	text = markRE.ReplaceAllString(text, "")
	text = codeSpanRE.ReplaceAllString(text, " ")
	return targetRE.ReplaceAllString(text, "]")
}
