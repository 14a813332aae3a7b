package workload

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"plimsoll/internal/files"
)

// maxAccountLine is the longest line of a file of accounts, in bytes: tokens are a few hundred at
// most.
const maxAccountLine = 16 << 10

// Columns of a file of accounts, and their names.
const (
	columnLogin = iota
	columnPassword
	columnToken
)

var accountColumns = []string{
	columnLogin:    "login",
	columnPassword: "password",
	columnToken:    "token",
}

// The remedy for a header that is none.
const wantHeader = "the first line names the columns: login,password or token or login,password,token"

// An AccountFile describes a file of accounts that was read to its end.
type AccountFile struct {
	Name   string // without its directory
	Rows   int
	Lines  int    // the header among them
	Digest string // of all bytes: "sha256:" and the hexadecimal SHA-256
	Shared bool   // others than its owner may read it
}

// An AccountError is the place of an error in a file of accounts. Its text never holds the content
// of a field.
type AccountError struct {
	File         string
	Line, Column int // from 1; the column counts characters
	Problem      string
}

// Error returns "users.csv:3:7: ...".
func (e *AccountError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Problem)
}

// AccountsDigest returns the digest of a file of accounts, as in [AccountFile]. It is an error if
// there is no regular file.
func AccountsDigest(path string) (string, error) {
	f, err := files.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// ReadAccounts reads a file of accounts: comma-separated values in UTF-8, one account a line below
// a header that names the columns login, password and token in any order. A row needs a token, or a
// login and a password. A byte order mark, carriage returns before newlines, and empty lines are
// ignored; a field may stand in double quotes, doubled inside. The whole file is checked and the
// first most rows are returned; each other row takes 24 bytes for its login and for its token until
// that is done. The first error is an [*AccountError], or one of opening or reading the file.
func ReadAccounts(path string, most int) (*Accounts, AccountFile, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, AccountFile{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	of := AccountFile{Name: filepath.Base(path)}
	if st, err := f.Stat(); err == nil {
		of.Shared = st.Mode().Perm()&0o077 != 0
	}
	sum := sha256.New()
	r := &accountReader{file: of.Name, most: most}
	lines := bufio.NewReaderSize(io.TeeReader(f, sum), maxAccountLine)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			r.lines++
		}
		r.line++
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, of, r.fail(
				1,
				"the line is longer than %d bytes; is this a file of accounts?",
				maxAccountLine,
			)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, of, fmt.Errorf("%s: line %d: %w", of.Name, r.line, err)
		}
		if perr := r.take(line); perr != nil {
			return nil, of, perr
		}
		if err != nil {
			break
		}
	}
	if r.columns == nil {
		r.line = 1
		return nil, of, r.fail(1, "is empty; %s", wantHeader)
	}
	if err := r.twice(); err != nil {
		return nil, of, err
	}
	of.Rows, of.Lines, of.Digest = r.rows, r.lines, "sha256:"+hex.EncodeToString(sum.Sum(nil))
	return &Accounts{File: of.Name, Rows: r.kept}, of, nil
}

// An accountReader is the state of ReadAccounts.
type accountReader struct {
	file    string
	line    int
	lines   int
	most    int
	columns []int // of the header; nil before it
	rows    int
	kept    []Account
	fields  []accountField // of the line under way
	seen    []accountMark
}

// accountField is the value of a field and the column at which it begins.
type accountField struct {
	value string
	at    int
}

// accountMark is the hash of a login or token, by which those that are there twice are found, and
// its place.
type accountMark struct {
	hash [2]uint64
	line uint32
	at   uint16
	kind uint8 // columnLogin or columnToken
}

func (r *accountReader) fail(column int, format string, args ...any) error {
	return &AccountError{
		File:    r.file,
		Line:    r.line,
		Column:  column,
		Problem: fmt.Sprintf(format, args...),
	}
}

// take reads one line, with its newline if it has one.
func (r *accountReader) take(line []byte) error {
	if r.line == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if len(line) == 0 {
		return nil
	}
	if err := r.split(string(line)); err != nil {
		return err
	}
	if r.columns == nil {
		return r.header()
	}
	return r.row()
}

// split cuts a line into fields.
func (r *accountReader) split(line string) error {
	if !utf8.ValidString(line) {
		return r.fail(1, "is not UTF-8; save the file in this encoding")
	}
	column := 1
	for i, c := range line {
		if unicode.IsControl(c) {
			return r.fail(
				1+utf8.RuneCountInString(line[:i]),
				"holds a tab or another control character; remove it, and separate fields by commas",
			)
		}
	}
	r.fields = r.fields[:0]
	for rest, more := line, true; more; {
		f := accountField{at: column}
		quoted, length := strings.HasPrefix(rest, `"`), 0
		if quoted {
			var b strings.Builder
			for i := 1; ; i++ {
				end := strings.IndexByte(rest[i:], '"')
				if end < 0 {
					return r.fail(f.at, "the quote that begins here is not closed on this line")
				}
				b.WriteString(rest[i : i+end])
				if i += end + 1; !strings.HasPrefix(rest[i:], `"`) {
					length = i
					break
				}
				b.WriteByte('"')
			}
			f.value = b.String()
		} else if length = strings.IndexByte(rest, ','); length < 0 {
			length = len(rest)
		}
		column += utf8.RuneCountInString(rest[:length])
		if !quoted {
			f.value = rest[:length]
			if i := strings.IndexByte(f.value, '"'); i >= 0 {
				return r.fail(
					f.at+utf8.RuneCountInString(f.value[:i]),
					`a quote inside a field; put the field into quotes, and double this one`,
				)
			}
		}
		r.fields = append(r.fields, f)
		rest = rest[length:]
		if more = rest != ""; more {
			if rest[0] != ',' {
				return r.fail(
					column,
					"the field goes on after its closing quote; want a comma, or double the quote",
				)
			}
			rest = rest[1:]
			column++
		}
	}
	return nil
}

// header reads the names of the columns. It may be a row of a file without a header, so no error
// shows a field.
func (r *accountReader) header() error {
	var columns []int
	var bad error
	for i, f := range r.fields {
		k := slices.Index(accountColumns, strings.ToLower(strings.TrimSpace(f.value)))
		switch {
		case k < 0:
			bad = cmp.Or(bad, r.fail(
				f.at,
				"column %d is none of login, password and token; rename or remove it",
				i+1,
			))
		case slices.Contains(columns, k):
			bad = cmp.Or(
				bad,
				r.fail(f.at, "column %d has the name of an earlier one; keep one", i+1),
			)
		}
		columns = append(columns, k)
	}
	has := func(k int) bool { return slices.Contains(columns, k) }
	switch {
	case !has(columnLogin) && !has(columnPassword) && !has(columnToken):
		return r.fail(1, "is no header; %s", wantHeader)
	case bad != nil:
		return bad
	case has(columnToken):
	case !has(columnLogin):
		return r.fail(1, "has no column login, and none of token; %s", wantHeader)
	case !has(columnPassword):
		return r.fail(1, "has no column password, and none of token; %s", wantHeader)
	}
	r.columns = columns
	return nil
}

// row reads an account.
func (r *accountReader) row() error {
	if n, want := len(r.fields), len(r.columns); n != want {
		at := r.fields[min(n, want+1)-1].at
		return r.fail(at, "has %d fields; want %d, as the header has columns", n, want)
	}
	a := Account{Line: r.line}
	var at [3]int // 0: there is no such column
	for i, f := range r.fields {
		k := r.columns[i]
		at[k] = f.at
		*[]*string{&a.Login, &a.Password, &a.Token}[k] = f.value
	}
	if i := strings.IndexFunc(a.Token, func(c rune) bool { return c <= ' ' || c > '~' }); i >= 0 {
		return r.fail(
			at[columnToken],
			"the token holds a character that no token has; want letters, digits and signs, without spaces",
		)
	}
	if a.Login != strings.TrimSpace(a.Login) {
		return r.fail(at[columnLogin], "login begins or ends with a space; remove it")
	}
	alone := at[columnLogin] == 0 || at[columnPassword] == 0
	switch {
	case a.Token == "" && alone:
		return r.fail(
			at[columnToken],
			"token is empty; want one, or columns login and password too",
		)
	case a.Login == "" && (a.Token == "" || a.Password != ""):
		return r.fail(
			cmp.Or(at[columnLogin], 1),
			"login is empty; want a login and a password, or a token alone",
		)
	case a.Token == "" && a.Password == "":
		return r.fail(at[columnPassword], "password is empty; want one, or a token")
	}
	r.rows++
	if len(r.kept) < r.most {
		r.kept = append(r.kept, a)
	}
	r.mark(columnLogin, strings.ToLower(a.Login), at[columnLogin])
	r.mark(columnToken, a.Token, at[columnToken])
	return nil
}

// mark notes a value, unless it is empty.
func (r *accountReader) mark(kind uint8, value string, at int) {
	if value == "" {
		return
	}
	sum := sha256.Sum256([]byte(value))
	r.seen = append(r.seen, accountMark{
		[2]uint64{binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])},
		uint32(r.line),
		uint16(at),
		kind,
	})
}

// twice returns the error of the first line whose login or token an earlier line has.
func (r *accountReader) twice() error {
	slices.SortFunc(r.seen, func(a, b accountMark) int {
		return cmp.Or(
			cmp.Compare(a.kind, b.kind),
			cmp.Compare(a.hash[0], b.hash[0]),
			cmp.Compare(a.hash[1], b.hash[1]),
			cmp.Compare(a.line, b.line),
		)
	})
	var first, again accountMark
	for i := 1; i < len(r.seen); i++ {
		a, b := r.seen[i-1], r.seen[i]
		if a.kind == b.kind && a.hash == b.hash && (again.line == 0 || b.line < again.line) {
			first, again = a, b
		}
	}
	if again.line == 0 {
		return nil
	}
	r.line = int(again.line)
	return r.fail(
		int(again.at),
		"%s is that of line %d; each user needs an account of its own",
		accountColumns[again.kind],
		first.line,
	)
}
