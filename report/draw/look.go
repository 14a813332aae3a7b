package draw

import (
	"fmt"
	"image/color"
	"strings"
)

// Arms is the number of colors of arms.
const Arms = len(palette)

// Arm is the class of the color of the i-th arm; after the last color they begin again.
func Arm(i int) string { return fmt.Sprintf("a%d", i%Arms) }

// palette distinguishes arms for all kinds of color vision (the first six are of Okabe and Ito);
// base is blue.
var palette = [...]color.NRGBA{
	rgb(0x0072b2), rgb(0xd55e00), rgb(0x009e73),
	rgb(0xcc79a7), rgb(0xe69f00),
	rgb(0x56b4e9), rgb(0x8c5a2b), rgb(0x6b6b6b),
}

var (
	ink   = rgb(0x222222)
	soft  = rgb(0x59636e)
	pale  = rgb(0xd4d8dd)
	gray  = rgb(0x777777)
	alarm = rgb(0xb00020)
)

func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 0xff}
}

func faded(c color.NRGBA, alpha uint8) color.NRGBA {
	c.A = alpha
	return c
}

// armOf returns the index of the arm's color in a class such as "arm a1"; -1 if there is none.
func armOf(class string) int {
	for name := range strings.FieldsSeq(class) {
		if len(name) == 2 && name[0] == 'a' && name[1] >= '0' && name[1] <= '7' {
			return int(name[1] - '0')
		}
	}
	return -1
}

// A look is the style of a class in a PNG.
type look struct {
	color        color.NRGBA
	width        float64 // of a line, in units
	size         float64 // of letters
	bold, dashed bool
}

// looks holds the look of each class; the color of an arm is added.
var looks = map[string]look{
	"title":          {color: ink, size: 14, bold: true},
	"how":            {color: soft, size: 11},
	"soft":           {color: soft},
	"grid":           {color: pale, width: 0.7},
	"gap":            {color: pale, width: 1.5},
	"axis":           {color: gray, width: 1},
	"mark":           {color: gray, width: 1.2, dashed: true},
	"limit":          {color: alarm, width: 1.4, dashed: true},
	"change":         {color: alarm, width: 1.6, dashed: true},
	"called":         {color: alarm, bold: true},
	"span":           {color: ink, width: 1.8},
	"whisker":        {color: palette[0], width: 1.6},
	"dot":            {color: palette[0]},
	"margin":         {color: faded(rgb(0x999999), 0x48)},
	"broken":         {color: faded(alarm, 0x22)},
	"unknown":        {color: faded(gray, 0x33)},
	"same":           {color: rgb(0xdfe3e8)},
	"up1":            {color: rgb(0xfbdcc8)},
	"up2":            {color: rgb(0xf6b07f)},
	"up3":            {color: rgb(0xe98a3f)},
	"down1":          {color: rgb(0xd3e6f5)},
	"down2":          {color: rgb(0x97c7e8)},
	"down3":          {color: rgb(0x5caadb)},
	"k-worse":        {color: rgb(0xb3261e)},
	"k-better":       {color: rgb(0x1a7f37)},
	"k-same":         {color: rgb(0x1a7f37)},
	"k-inconclusive": {color: rgb(0x8a5a00)},
	"k-indicative":   {color: rgb(0x8a5a00)},
	"k-invalid":      {color: rgb(0x6e40c9)},
}

// lookOf returns the look of a class in a group of an arm, -1 for none.
func lookOf(class string, arm int) look {
	name, _, _ := strings.Cut(class, " ")
	l, ok := looks[name]
	if !ok {
		l.color = ink
	}
	if i := armOf(class); i >= 0 {
		l.color = palette[i]
	} else if arm >= 0 {
		switch name {
		case "mean":
			l.color, l.width = palette[arm], 2
		case "thin":
			l.color, l.width = faded(palette[arm], 0x80), 0.8
		case "band":
			l.color = faded(palette[arm], 0x30)
		}
	}
	if strings.Contains(class, "hollow") {
		l.color.A = 0x30
	}
	l.bold = l.bold || strings.Contains(class, "strong")
	if l.size == 0 {
		l.size = 12
	}
	return l
}
