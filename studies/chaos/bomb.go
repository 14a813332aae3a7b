package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"sync"
)

func zipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b) // into memory
	_ = z.Close()
	return out.Bytes()
}

// bomb is 64 MB of an object that never ends, in 64 kB.
var bomb = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write([]byte(`{"id":"`))
	zeros := bytes.Repeat([]byte("a"), 1<<20)
	for range 64 {
		_, _ = z.Write(zeros)
	}
	_ = z.Close()
	return out.Bytes()
})

// posts is a list of messages of 60 MB that is whole and right.
var posts = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	b.WriteString(`{"order":[],"posts":{"a":{"id":"`)
	b.WriteString(randomName())
	b.WriteString(`","message":"`)
	b.WriteString(strings.Repeat("lorem ipsum ", 5<<20))
	b.WriteString(`"}}}`)
	return b.Bytes()
})

// Bombs: small on the wire or right by the letter, and large in memory.
var bombModes = []*mode{
	{
		name:  "bomb-gzip",
		heavy: true,
		what:  "64 kB of gzip that are 64 MB",
		answer: func(x *exchange) {
			x.large("201 Created", "application/json", bomb(), "Content-Encoding: gzip")
		},
	},
	{name: "bomb-gzip-garbage", what: "an announced gzip that is none", answer: func(x *exchange) {
		x.answer("201 Created", "application/json", "not zipped at all", "Content-Encoding: gzip")
	}},
	{name: "bomb-deep", heavy: true, what: "JSON a million levels deep", answer: func(x *exchange) {
		x.json("201 Created", `{"id":`+strings.Repeat("[", 1_000_000))
	}},
	{
		name:  "bomb-deep-objects",
		heavy: true,
		what:  "objects 200,000 levels deep, closed again",
		answer: func(x *exchange) {
			const n = 200_000
			x.json("201 Created", strings.Repeat(`{"id":`, n)+"1"+strings.Repeat("}", n))
		},
	},
	{
		name:   "bomb-json",
		heavy:  true,
		what:   "60 MB of JSON that is right",
		answer: func(x *exchange) { x.large("200 OK", "application/json", posts()) },
	},
	{
		name:  "bomb-keys",
		heavy: true,
		what:  "an object of 400,000 fields",
		answer: func(x *exchange) {
			x.json("201 Created", "{"+strings.Repeat(`"a":1,`, 400_000)+`"b":2}`)
		},
	},
	{
		name:  "bomb-text",
		heavy: true,
		what:  "an id of 3 MB",
		answer: func(x *exchange) {
			x.json("201 Created", `{"id":"`+strings.Repeat("z", 3<<20)+`"}`)
		},
	},
	{name: "bomb-field", heavy: true, what: "a header field of 10 MB", answer: func(x *exchange) {
		x.say(
			"HTTP/1.1 201 Created\r\nX-Big: " + strings.Repeat(
				"z",
				10<<20,
			) + "\r\nContent-Length: 2\r\n\r\n{}",
		)
	}},
	{name: "bomb-fields", heavy: true, what: "200,000 header fields", answer: func(x *exchange) {
		x.say(
			"HTTP/1.1 201 Created\r\n" + strings.Repeat(
				"X-A: b\r\n",
				200_000,
			) + "Content-Length: 2\r\n\r\n{}",
		)
	}},
	{
		name:  "bomb-series",
		what:  "30,000 new series on every page of metrics",
		heavy: true,
		answer: func(x *exchange) {
			var b bytes.Buffer
			b.WriteString("# TYPE chaos gauge\n")
			for range 30_000 {
				fmt.Fprintf(&b, "chaos{id=%q} 1\n", randomName())
			}
			x.large("200 OK", "text/plain; version=0.0.4", b.Bytes())
		},
	},
	{
		name:  "bomb-labels",
		what:  "a metric with labels of 3 MB and with 20,000 labels",
		heavy: true,
		answer: func(x *exchange) {
			var b bytes.Buffer
			fmt.Fprintf(&b, "chaos_a{x=%q} 1\nchaos_b{", strings.Repeat("z", 3<<20))
			for i := range 20_000 {
				fmt.Fprintf(&b, "l%d=\"v\",", i)
			}
			b.WriteString("} 1\n")
			x.large("200 OK", "text/plain; version=0.0.4", b.Bytes())
		},
	},
	{
		name:  "bomb-padding",
		heavy: true,
		what:  "a number of 3 MB and blanks of 500 kB around it",
		answer: func(x *exchange) {
			x.json(
				"201 Created",
				`{"id":`+strings.Repeat(" ", 500<<10)+strings.Repeat("9", 3<<20)+"}",
			)
		},
	},
}
