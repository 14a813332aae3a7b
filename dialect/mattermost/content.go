package mattermost

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"plimsoll/dialect/mattermost/api"
)

// The content of posts, by the shares of load-test-ng's study of it: the number of words is
// uniform, one message in ten ends with an emoji, one in ten has a mention, one in ten has a link,
// one in a hundred a link to another post, one in fifty files. The last two are draws of their own.
const (
	rootWords  = 68 // at most; a root has 1 to 68
	replyWords = 46

	emojiShare     = 0.10
	mentionShare   = 0.10
	linkShare      = 0.10
	permalinkShare = 0.01
	filesShare     = 0.02
	urgentShare    = 0.001 // of the roots
	// of keystrokes while something is looked up: a wrong letter, looked up as well.
	typoShare = 0.15
)

var emojis = []string{"smile", "+1", "heart", "tada", "eyes", "fire", "rocket", "clap", "wave",
	"ok_hand", "thinking", "100"}

// links lead to domains that are reserved for examples: a server that follows them reaches no real
// site.
var links = []string{
	"https://example.com/", "https://example.org/guide/first-steps",
	"https://www.example.com/blog/2024/05/what-we-learned?ref=chat",
	"https://example.net/issues/4711", "https://docs.example.org/en/latest/operations.html#backup",
	"https://video.example.com/watch?v=a1b2c3d4e5f",
	"https://video.example.net/watch?v=zyxwvutsrqp&t=95s",
}

// A composed is a message that a person means to write.
type composed struct {
	text    string
	mention string // name of a user who is mentioned at the end; typed with the help of the server
	tail    string // the rest
	files   []int  // of attachments
}

// compose draws a message of 1 to words words. Everything is drawn here, before any request.
func (a *person) compose(words int) composed {
	r := a.content
	c := composed{text: fewWords(r, words)}
	mention := r.Float64() < mentionShare
	whom := r.IntN(max(1, a.b.count()))
	link := r.Float64() < linkShare
	which := r.IntN(len(links))
	permalink := r.Float64() < permalinkShare
	emoji := r.Float64() < emojiShare
	face := r.IntN(len(emojis))
	files := r.Float64() < filesShare
	if mention && a.b.count() > 1 {
		c.mention = a.b.name(whom)
	}
	if link {
		c.tail += " " + links[which]
	}
	if permalink {
		c.tail += a.permalink()
	}
	if emoji {
		c.tail += " :" + emojis[face] + ":"
	}
	if files {
		c.files = drawFiles(r)
	}
	return c
}

// permalink links to a post of another channel that the person has seen, or of the current one.
func (a *person) permalink() string {
	ch := a.channel()
	if k, ok := a.otherPlace(func(p place) bool { return a.inTeam(p) && p.loaded }); ok {
		ch = a.places[k].ch
	}
	if ch == nil {
		return ""
	}
	p, ok := a.anyPost(ch, isUserPost)
	if !ok {
		return ""
	}
	return " " + strings.TrimRight(a.pool.cfg.URL, "/") + "/" + a.b.set.team + "/pl/" + p.id.String()
}

// fewWords draws one to most words.
func fewWords(r *rand.Rand, most int) string { return sentence(r, 1+r.IntN(most)) }

// sentence draws n words.
func sentence(r *rand.Rand, n int) string {
	words := vocabulary()
	b := make([]byte, 0, 9*n)
	for i := range n {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, words[r.IntN(len(words))]...)
	}
	return string(b)
}

// plain returns the text without files.
func (c composed) plain() string {
	if c.mention != "" {
		return c.text + " @" + c.mention + c.tail
	}
	return c.text + c.tail
}

// write makes the calls of a client while a person writes: it sends that the person is typing,
// looks up mentioned users, and uploads the files. It returns the content to be sent or kept.
func (a *act) write(ch *channel, root api.ID, c composed,
) (api.Draft, error) {
	d := api.Draft{ChannelID: ch.key, RootID: root.String()}
	if err := a.typing(ch, root); err != nil {
		return d, err
	}
	if c.mention != "" {
		if err := a.typeOut(c.mention, func(part string) error {
			return a.lookUp(d.ChannelID, part)
		}); err != nil {
			return d, err
		}
	}
	d.Message = c.plain()
	ids := make([]string, len(c.files))
	calls := make([]call, len(c.files))
	for i, k := range c.files {
		calls[i] = func(ctx context.Context, cl *api.Client) (err error) {
			f := &attachments()[k]
			ids[i], err = cl.Upload(ctx, d.ChannelID, false, f.name, f.kind, f.data)
			return err
		}
	}
	if err := a.together(calls...); err != nil {
		return d, err
	}
	if len(ids) > 0 {
		d.FileIDs = ids
	}
	return d, nil
}

// lookUp requests completions of a name that is being typed, in a channel if that is not empty, and
// shows the users' portraits.
func (a *act) lookUp(channelID, part string) error {
	in, out, err := a.c.AutocompleteUsers(a, a.team, channelID, part)
	if err != nil {
		return err
	}
	return a.show(append(in, out...))
}

// show remembers users that were found, and requests their portraits.
func (a *act) show(people []api.Profile) error {
	a.know(people)
	faces := make([]uint32, len(people))
	for i, p := range people {
		faces[i] = a.b.dir.user(api.ParseID(p.ID))
	}
	return a.portraits(faces)
}

// typeOut types a text letter by letter, in 100 to 300 ms each, and looks each beginning up. Now
// and then it looks a wrong letter up, too.
func (a *act) typeOut(text string, look func(part string) error) error {
	pause := time.Duration(100+a.content.IntN(201)) * time.Millisecond
	for i := range len(text) {
		if i > 0 {
			if err := a.u.Pause(a, pause); err != nil {
				return err
			}
		}
		if a.content.Float64() < typoShare {
			if err := look(text[:i] + string(rune('a'+a.content.IntN(26)))); err != nil {
				return err
			}
		}
		if err := look(text[:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// An attachment is a file that persons share.
type attachment struct {
	name, kind string
	data       []byte
}

// attachments are a picture, a photograph, a film and a text, of the sizes of load-test-ng's. All
// persons share the bytes.
var attachments = sync.OnceValue(func() []attachment {
	r := rand.New(rand.NewPCG(1, 2))
	noise := func(w, h int) image.Image {
		m := image.NewNRGBA(image.Rect(0, 0, w, h))
		for i := range m.Pix {
			m.Pix[i] = byte(r.Uint32())
			if i%4 == 3 {
				m.Pix[i] = 255
			}
		}
		return m
	}
	var picture, photo bytes.Buffer
	_ = png.Encode(&picture, noise(400, 374)) // into memory
	_ = jpeg.Encode(&photo, noise(210, 210), nil)
	film := binary.BigEndian.AppendUint32(nil, 24)
	film = append(film, "ftypisom\x00\x00\x02\x00isommp41"...)
	for len(film) < 432305 {
		film = append(film, byte(r.Uint32()))
	}
	return []attachment{
		{"picture.png", "image/png", padded(picture.Bytes(), 450502)},
		{"photo.jpg", "image/jpeg", padded(photo.Bytes(), 83555)},
		{"film.mp4", "video/mp4", film},
		{"notes.txt", "text/plain", []byte(sentence(r, 3000))[:11390]},
	}
})

// padded appends zeros behind the end of a picture, which readers ignore, to a size.
func padded(b []byte, size int) []byte {
	return append(b, make([]byte, max(0, size-len(b)))...)
}

// drawFiles draws which attachments a message has: one of them half of the time, else two or three;
// each is decided by a coin, in order.
func drawFiles(r *rand.Rand) (files []int) {
	want := []int{1, 1, 2, 3}[r.IntN(4)]
	for len(files) == 0 {
		for k := range 4 {
			if len(files) < want && r.IntN(2) == 0 {
				files = append(files, k)
			}
		}
	}
	return files
}
