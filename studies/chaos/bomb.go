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
	return zipped([]byte(`{"id":"` + strings.Repeat("a", 64<<20)))
})

// posts is a list of messages of 60 MB that is whole and right.
var posts = sync.OnceValue(func() []byte {
	return []byte(`{"order":[],"posts":{"a":{"id":"` + randomName() + `","message":"` +
		strings.Repeat("lorem ipsum ", 5<<20) + `"}}}`)
})

// Bombs: small on the wire or right by the letter, and large in memory.
var bombModes = []*mode{
	weighs("bomb-gzip", "64 kB of gzip that are 64 MB", func(x *exchange) {
		x.large("201 Created", "application/json", bomb(), "Content-Encoding: gzip")
	}),
	shows("bomb-gzip-garbage", "an announced gzip that is none",
		"201 Created", "application/json", "not zipped at all", "Content-Encoding: gzip"),
	bombs("bomb-deep", "JSON a million levels deep", `{"id":`, "[", 1_000_000, ""),
	weighs("bomb-deep-objects", "objects 200,000 levels deep, closed again", func(x *exchange) {
		const n = 200_000
		x.json("201 Created", strings.Repeat(`{"id":`, n)+"1"+strings.Repeat("}", n))
	}),
	weighs("bomb-json", "60 MB of JSON that is right", func(x *exchange) {
		x.large("200 OK", "application/json", posts())
	}),
	bombs("bomb-keys", "an object of 400,000 fields", "{", `"a":1,`, 400_000, `"b":2}`),
	bombs("bomb-text", "an id of 3 MB", `{"id":"`, "z", 3<<20, `"}`),
	weighs("bomb-field", "a header field of 10 MB", func(x *exchange) {
		x.say(head("201 Created", "X-Big: "+strings.Repeat("z", 10<<20), "Content-Length: 2") + "{}")
	}),
	weighs("bomb-fields", "200,000 header fields", func(x *exchange) {
		x.say("HTTP/1.1 201 Created\r\n" + strings.Repeat("X-A: b\r\n", 200_000) +
			"Content-Length: 2\r\n\r\n{}")
	}),
	weighs("bomb-series", "30,000 new series on every page of metrics", func(x *exchange) {
		var b bytes.Buffer
		b.WriteString("# TYPE chaos gauge\n")
		for range 30_000 {
			fmt.Fprintf(&b, "chaos{id=%q} 1\n", randomName())
		}
		x.large("200 OK", pageOfMetrics, b.Bytes())
	}),
	weighs("bomb-labels", "a metric with labels of 3 MB and with 20,000 labels", func(x *exchange) {
		var b bytes.Buffer
		fmt.Fprintf(&b, "chaos_a{x=%q} 1\nchaos_b{", strings.Repeat("z", 3<<20))
		for i := range 20_000 {
			fmt.Fprintf(&b, "l%d=\"v\",", i)
		}
		b.WriteString("} 1\n")
		x.large("200 OK", pageOfMetrics, b.Bytes())
	}),
	bombs("bomb-padding", "a number of 3 MB and blanks of 500 kB around it",
		`{"id":`+strings.Repeat(" ", 500<<10), "9", 3<<20, "}"),
}

const pageOfMetrics = "text/plain; version=0.0.4"

// bombs makes a mode that answers with JSON in which the same stands so many times.
func bombs(name, what, begin, piece string, times int, end string) *mode {
	return weighs(name, what, func(x *exchange) {
		x.json("201 Created", begin+strings.Repeat(piece, times)+end)
	})
}
