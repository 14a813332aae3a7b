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
	{0x00, 0x72, 0xB2, 0xff}, {0xD5, 0x5E, 0x00, 0xff}, {0x00, 0x9E, 0x73, 0xff},
	{0xCC, 0x79, 0xA7, 0xff}, {0xE6, 0x9F, 0x00, 0xff},
	{0x56, 0xB4, 0xE9, 0xff}, {0x8C, 0x5A, 0x2B, 0xff}, {0x6B, 0x6B, 0x6B, 0xff},
}

var (
	ink   = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	soft  = color.NRGBA{0x59, 0x63, 0x6e, 0xff}
	pale  = color.NRGBA{0xd4, 0xd8, 0xdd, 0xff}
	gray  = color.NRGBA{0x77, 0x77, 0x77, 0xff}
	alarm = color.NRGBA{0xB0, 0x00, 0x20, 0xff}
)

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
	"margin":         {color: color.NRGBA{0x99, 0x99, 0x99, 0x48}},
	"broken":         {color: faded(alarm, 0x22)},
	"unknown":        {color: faded(gray, 0x33)},
	"same":           {color: color.NRGBA{0xdf, 0xe3, 0xe8, 0xff}},
	"up1":            {color: color.NRGBA{0xfb, 0xdc, 0xc8, 0xff}},
	"up2":            {color: color.NRGBA{0xf6, 0xb0, 0x7f, 0xff}},
	"up3":            {color: color.NRGBA{0xe9, 0x8a, 0x3f, 0xff}},
	"down1":          {color: color.NRGBA{0xd3, 0xe6, 0xf5, 0xff}},
	"down2":          {color: color.NRGBA{0x97, 0xc7, 0xe8, 0xff}},
	"down3":          {color: color.NRGBA{0x5c, 0xaa, 0xdb, 0xff}},
	"k-worse":        {color: color.NRGBA{0xb3, 0x26, 0x1e, 0xff}},
	"k-better":       {color: color.NRGBA{0x1a, 0x7f, 0x37, 0xff}},
	"k-same":         {color: color.NRGBA{0x1a, 0x7f, 0x37, 0xff}},
	"k-inconclusive": {color: color.NRGBA{0x8a, 0x5a, 0x00, 0xff}},
	"k-indicative":   {color: color.NRGBA{0x8a, 0x5a, 0x00, 0xff}},
	"k-invalid":      {color: color.NRGBA{0x6e, 0x40, 0xc9, 0xff}},
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
