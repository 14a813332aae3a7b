package console

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/internal/files"
)

// A Role is a set of permissions. Roles are ordered.
type Role int

// The roles.
const (
	Nobody   Role = iota
	Viewer        // reads everything
	Operator      // also starts, stops and steers
)

// String is the role's name in the contract.
func (r Role) String() string { return [...]string{"none", "viewer", "operator"}[r] }

const (
	// leastToken is the least length of a token in bytes: 32 of base64 are 192 bits. Nobody guesses
	// one, so wrong tokens lock nobody out: a neighbor on one host would lock out those who have
	// the right one.
	leastToken = 32
	mostTokens = 4 << 10
	// sessionLength is the lifetime of a login, and mostSessions the largest number of logins at a
	// time.
	sessionLength = 12 * time.Hour
	mostSessions  = 200
	cookieName    = "plimsoll"
	mostBody      = 16 << 10
)

// Tokens are the secrets of a token file, as digests.
type Tokens map[[sha256.Size]byte]Role

// ReadTokens reads a token file: a line has a role, viewer or operator, and a token of at least 32
// characters. Lines that begin with # are comments. Nobody but this user may be able to read it.
func ReadTokens(path string) (Tokens, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("-tokens: %w", err)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("-tokens: others may read %s; chmod 600 %s", path, path)
	}
	b, err := files.Read(path, mostTokens)
	if err != nil {
		return nil, fmt.Errorf("-tokens: %w", err)
	}
	out := Tokens{}
	in := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; in.Scan(); n++ {
		f := strings.Fields(in.Text())
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		role, ok := map[string]Role{"viewer": Viewer, "operator": Operator}[f[0]]
		if !ok || len(f) != 2 || len(f[1]) < leastToken {
			return nil, fmt.Errorf(
				"-tokens: %s:%d: want viewer or operator, a space, and a token of at least %d characters, such as one of openssl rand -base64 32",
				path,
				n,
				leastToken,
			)
		}
		out[sha256.Sum256([]byte(f[1]))] = role
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("-tokens: %s has no token", path)
	}
	return out, nil
}

// role compares a token with all of them, in a time that does not depend on which it resembles.
func (t Tokens) role(token string) (role Role) {
	got := sha256.Sum256([]byte(token))
	for known, r := range t {
		if subtle.ConstantTimeCompare(known[:], got[:]) == 1 {
			role = r
		}
	}
	return role
}

// access knows who may do what. Its methods are safe for concurrent use.
type access struct {
	tokens Tokens // nil: no login, everybody has the role open
	open   Role
	secure bool // the cookie goes over TLS only

	mu       sync.Mutex
	sessions map[[sha256.Size]byte]session // by the digest of the cookie
	now      func() time.Time
}

type session struct {
	role  Role
	until time.Time
}

func newAccess(tokens Tokens, open Role) *access {
	return &access{
		tokens:   tokens,
		open:     open,
		sessions: map[[sha256.Size]byte]session{},
		now:      time.Now,
	}
}

// of returns the role of a request: by its token, its cookie, or for everybody.
func (a *access) of(r *http.Request) Role {
	if a.tokens == nil {
		return a.open
	}
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return a.tokens.role(token)
	}
	c, err := r.Cookie(cookieName)
	if err != nil {
		return Nobody
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.sessions[sha256.Sum256([]byte(c.Value))]
	if !ok || a.now().After(s.until) {
		return Nobody
	}
	return s.role
}

// begin makes a session and returns its cookie.
func (a *access) begin(role Role) *http.Cookie {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	value := hex.EncodeToString(b[:])
	a.mu.Lock()
	defer a.mu.Unlock()
	oldest, first := [sha256.Size]byte{}, time.Time{}
	for id, s := range a.sessions {
		if a.now().After(s.until) {
			delete(a.sessions, id)
		} else if first.IsZero() || s.until.Before(first) {
			oldest, first = id, s.until
		}
	}
	if len(a.sessions) >= mostSessions {
		delete(a.sessions, oldest)
	}
	a.sessions[sha256.Sum256([]byte(value))] = session{role, a.now().Add(sessionLength)}
	return a.cookie(value, int(sessionLength.Seconds()))
}

func (a *access) cookie(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name:     cookieName,
		Value:    value,
		Path:     "/",
		MaxAge:   age,
		HttpOnly: true,
		Secure:   a.secure,
		SameSite: http.SameSiteStrictMode,
	}
}

// end forgets the session of a request.
func (a *access) end(r *http.Request) {
	if c, err := r.Cookie(cookieName); err == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.sessions, sha256.Sum256([]byte(c.Value)))
	}
}

// ownReader reports whether a request may read the API: one from a page of this server, or from no
// page. A link to a report may be followed from anywhere.
func ownReader(r *http.Request) bool {
	return boundary.OwnPage(r) ||
		r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
			strings.HasPrefix(r.URL.Path, "/api/documents/")
}

// body reads the JSON of a request into v; false means that the refusal was written.
func body(w http.ResponseWriter, r *http.Request, v any) bool {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "want Content-Type: application/json")
		return false
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = errors.New("more than one value")
		}
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		refuse(
			w,
			http.StatusRequestEntityTooLarge,
			fmt.Sprintf("the body is larger than %d bytes", mostBody),
		)
		return false
	}
	if err != nil {
		refuse(
			w,
			http.StatusBadRequest,
			"the body is not the JSON that openapi.yaml has: "+err.Error(),
		)
		return false
	}
	return true
}

func (s *Console) sessionOf(role Role) map[string]any {
	return map[string]any{
		"role":    role.String(),
		"login":   s.access.tokens != nil,
		"plans":   s.plans != nil,
		"version": s.version,
	}
}

func (s *Console) login(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Token string `json:"token"`
	}
	if !body(w, r, &in) {
		return
	}
	if s.access.tokens == nil {
		answer(w, s.sessionOf(s.access.open))
		return
	}
	role := s.access.tokens.role(in.Token)
	if role == Nobody {
		refuse(w, http.StatusUnauthorized, "the token is not known")
		return
	}
	s.access.end(r) // one session a browser
	http.SetCookie(w, s.access.begin(role))
	answer(w, s.sessionOf(role))
}

func (s *Console) logout(w http.ResponseWriter, r *http.Request) {
	s.access.end(r)
	http.SetCookie(w, s.access.cookie("", -1))
	role := Nobody
	if s.access.tokens == nil {
		role = s.access.open
	}
	answer(w, s.sessionOf(role))
}
