package main

import (
	"fmt"
	"strings"

	"plimsoll/studies/study"
)

// Sizes of a panel of the picture.
const (
	panelWidth  = 400
	panelLeft   = 48
	panelTop    = 40
	areaWidth   = 330
	areaHeight  = 200
	panelHeight = panelTop + areaHeight + 44
)

const pictureHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" role="img" aria-label="Share of outcomes in which a difference was found, by its size">
<style>text{fill:#222}.grid{stroke:#ddd}.four{stroke:#777;stroke-dasharray:4 3}.quiet{stroke:#0072b2;fill:#0072b2}.neighbor{stroke:#d55e00;fill:#d55e00}path.quiet,path.neighbor{fill:none;stroke-width:2}</style>
<rect width="100%%" height="100%%" fill="#fff"/>
`

// picture draws the power by size: a panel for CPU time and one for waits, with the interval of
// each share. At size 0 are the false alarms.
func (c curve) picture() string {
	var b strings.Builder
	fmt.Fprintf(&b, pictureHead, 2*panelWidth, panelHeight)
	for i, by := range []string{byCPU, byWait} {
		title, most := "found, by CPU time in one operation, %", 0.10
		if by == byWait {
			title, most = "found, by p95(post), %", 0.20
		}
		fmt.Fprintf(
			&b,
			`<g transform="translate(%d 0)"><text x="%d" y="16" font-weight="bold">%s</text>`+"\n",
			i*panelWidth,
			panelLeft,
			title,
		)
		for _, share := range []float64{0, 20, 40, 60, 80, 100} {
			class := "grid"
			if share == 80 {
				class = "four"
			}
			fmt.Fprintf(
				&b,
				`<line class="%s" x1="%d" x2="%d" y1="%[4]g" y2="%[4]g"/><text x="%d" y="%g" text-anchor="end">%g %%</text>`+"\n",
				class,
				panelLeft,
				panelLeft+areaWidth,
				height(share),
				panelLeft-6,
				height(share)+4,
				share,
			)
		}
		for n, h := range hosts {
			c.line(&b, by, h, most, float64(6*n-3))
			fmt.Fprintf(
				&b,
				`<circle class="%[1]s" cx="%[2]d" cy="30" r="4"/><text x="%[3]d" y="34">%[1]s</text>`+"\n",
				h,
				panelLeft+6+90*n,
				panelLeft+14+90*n,
			)
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func height(share float64) float64 { return panelTop + areaHeight*(1-share/100) }

// line draws the shares on a host, beside those of the other one.
func (c curve) line(b *strings.Builder, by, host string, most, beside float64) {
	var path []string
	for _, k := range kinds {
		score := found
		if k.name == "none" {
			score = alarm
		} else if k.by != by {
			continue
		}
		x := panelLeft + 12 + (areaWidth-24)*k.size/most + beside
		if host == study.Quiet {
			fmt.Fprintf(
				b,
				`<text x="%g" y="%d" text-anchor="middle">%g</text>`+"\n",
				x+3,
				panelTop+areaHeight+18,
				100*k.size,
			)
		}
		t := c.cell(k, host)
		if t.N == 0 {
			continue
		}
		iv := study.ShareInterval(t.Scores[score], t.N, 0.95)
		value := float64(t.Scores[score]) / float64(t.N)
		fmt.Fprintf(
			b,
			`<line class="%[1]s" x1="%[2]g" x2="%[2]g" y1="%.1[3]f" y2="%.1[4]f"/><circle class="%[1]s" cx="%[2]g" cy="%.1[5]f" r="4"/>`+"\n",
			host,
			x,
			height(100*iv.Lo),
			height(100*iv.Hi),
			height(100*value),
		)
		path = append(path, fmt.Sprintf("%g %.1f", x, height(100*value)))
	}
	if len(path) > 0 {
		fmt.Fprintf(b, `<path class="%s" d="M%s"/>`+"\n", host, strings.Join(path, "L"))
	}
}
