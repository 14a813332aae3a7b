package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/websocket"
)

// handler is the server of the scripts that need more than refnull: statuses, cookies, redirects,
// late answers, forms, and a WebSocket that sends back what it gets.
func handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	m.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(number(r.PathValue("code"), 200, 599))
		fmt.Fprint(w, "ok")
	})
	m.HandleFunc("/redirect/{n}", func(w http.ResponseWriter, r *http.Request) {
		if n := number(r.PathValue("n"), 0, 20); n > 0 {
			http.Redirect(w, r, fmt.Sprint("/redirect/", n-1), http.StatusFound)
		}
	})
	m.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(time.Duration(number(r.FormValue("ms"), 0, 10000)) * time.Millisecond):
		case <-r.Context().Done():
		}
	})
	m.HandleFunc("/cookies/set", func(w http.ResponseWriter, r *http.Request) {
		for name, v := range r.URL.Query() {
			http.SetCookie(w, &http.Cookie{Name: name, Value: v[0], Path: "/"})
		}
	})
	m.HandleFunc("/cookies", func(w http.ResponseWriter, r *http.Request) {
		had := map[string]string{}
		for _, c := range r.Cookies() {
			had[c.Name] = c.Value
		}
		_ = json.NewEncoder(w).Encode(had)
	})
	m.HandleFunc("/form", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		got := map[string]string{"way": r.Header.Get("X-Way")}
		for name, v := range r.PostForm {
			got[name] = v[0]
		}
		_ = json.NewEncoder(w).Encode(got)
	})
	m.HandleFunc("/echo", echo)
	return m
}

// number reads a number between two limits; anything else is the nearer limit, or the lower.
func number(text string, low, high int) int {
	n, _ := strconv.Atoi(text)
	return min(max(n, low), high)
}

func echo(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{}
	c, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer c.Close()
	for {
		kind, text, err := c.ReadMessage()
		if err != nil || c.WriteMessage(kind, text) != nil {
			return
		}
	}
}
