package dataset

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"sync"
)

// A FileKind is the extension of a file: "png", "jpg", "mp4" or "txt".
type FileKind string

// FileKinds are the kinds in the order in which a post takes them.
var FileKinds = []FileKind{"png", "jpg", "mp4", "txt"}

// Sizes and pictures are those that the release teams' load test uploads.
const (
	pngSize, pngSide = 450_502, 380
	jpgSize, jpgSide = 83_555, 256
	mp4Size          = 432_305
	txtSize          = 11_390
)

var kinds = map[FileKind]struct {
	size, side int
	mime       string
	content    func() []byte
}{
	"png": {pngSize, pngSide, "image/png", sync.OnceValue(makePNG)},
	"jpg": {jpgSize, jpgSide, "image/jpeg", sync.OnceValue(makeJPEG)},
	"mp4": {mp4Size, 0, "video/mp4", sync.OnceValue(makeMP4)},
	"txt": {txtSize, 0, "text/plain; charset=utf-8", sync.OnceValue(makeText)},
}

// Size returns the number of bytes of a file of this kind.
func (k FileKind) Size() int { return kinds[k].size }

// MIME returns the type of such a file.
func (k FileKind) MIME() string { return kinds[k].mime }

// Pixels returns width and height of a picture (it is square), 0 for other kinds.
func (k FileKind) Pixels() int { return kinds[k].side }

// Content returns a valid file of this kind of exactly Size bytes. It must not be changed.
func (k FileKind) Content() []byte { return kinds[k].content() }

// Preview returns the picture as JPEG with so many pixels of width and height, as servers make
// previews; nil for other kinds.
func (k FileKind) Preview(side int) ([]byte, error) {
	if k.Pixels() == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	err := jpeg.Encode(&b, noise(min(side, k.Pixels())), &jpeg.Options{Quality: 90})
	return b.Bytes(), err
}

// noise is a picture that does not compress.
func noise(side int) image.Image {
	m := image.NewRGBA(image.Rect(0, 0, side, side))
	r := newStream(0, kindFile, uint64(side))
	for y := range side {
		for x := range side {
			v := r.next()
			m.SetRGBA(x, y, color.RGBA{byte(v), byte(v >> 8), byte(v >> 16), 255})
		}
	}
	return m
}

func makePNG() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, noise(pngSide)); err != nil {
		panic(err) // writing to memory does not fail
	}
	end := b.Len() - 12 // before the chunk IEND
	fill := pngSize - b.Len() - 12
	out := append([]byte{}, b.Bytes()[:end]...)
	body := append([]byte("fiLl"), make([]byte, fill)...) // ancillary, private, safe to copy
	out = binary.BigEndian.AppendUint32(out, uint32(fill))
	out = append(out, body...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
	return append(out, b.Bytes()[end:]...)
}

func makeJPEG() []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, noise(jpgSide), &jpeg.Options{Quality: 75}); err != nil {
		panic(err) // writing to memory does not fail
	}
	out := append([]byte{}, b.Bytes()[:2]...)
	for fill := jpgSize - b.Len(); fill > 0; { // comments, each of 4 bytes and at most 65,533 more
		n := min(fill, 60_000)
		if rest := fill - n; rest > 0 && rest < 4 {
			n -= 4
		}
		out = append(out, 0xff, 0xfe)
		out = binary.BigEndian.AppendUint16(out, uint16(n-2))
		out = append(out, make([]byte, n-4)...)
		fill -= n
	}
	return append(out, b.Bytes()[2:]...)
}

// makeMP4 is a container without a track: a type, and data that is never played.
func makeMP4() []byte {
	out := binary.BigEndian.AppendUint32(nil, 24)
	out = append(out, "ftypisom\x00\x00\x02\x00isommp41"...)
	out = binary.BigEndian.AppendUint32(out, uint32(mp4Size-len(out)))
	out = append(out, "mdat"...)
	r := newStream(0, kindFile, 1<<40)
	for len(out) < mp4Size {
		out = append(out, byte(r.next()))
	}
	return out
}

func makeText() []byte {
	r := newStream(0, kindFile, 1<<41)
	out := newVocabulary().appendWords(nil, &r, 2*txtSize/7)
	return append(out[:txtSize-1], '\n')
}
