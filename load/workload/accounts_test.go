package workload

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func accountFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users.csv")
	must(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestReadAccounts(t *testing.T) {
	for _, tt := range []struct {
		name, content string
		want          []Account
	}{
		{"passwords", "login,password\nann,a 1\nbob@example.com,\"b,\"\"2\"\n", []Account{{"ann", "a 1", "", 2}, {"bob@example.com", `b,"2`, "", 3}}},
		{"tokens", "token\nt1\nt2", []Account{{"", "", "t1", 2}, {"", "", "t2", 3}}},
		{"either, of another system", "\xef\xbb\xbfToken, Login ,PASSWORD\r\n,ann,a1\r\n\r\nt2,bob,\r\nt3,,\r\n", []Account{{"ann", "a1", "", 2}, {"bob", "", "t2", 4}, {"", "", "t3", 5}}},
		{"not ASCII", "login,password\nänne,pässwörd\n", []Account{{"änne", "pässwörd", "", 2}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := accountFile(t, tt.content)
			for most := range len(tt.want) + 2 {
				got, of, err := ReadAccounts(path, most)
				must(t, err)
				if want := tt.want[:min(most, len(tt.want))]; !slices.Equal(got.Rows, want) ||
					of.Rows != len(tt.want) {
					t.Errorf(
						"%d of %d rows, want %d of %d",
						len(got.Rows),
						of.Rows,
						len(want),
						len(tt.want),
					)
				}
				if of.Name != "users.csv" || len(of.Digest) != len("sha256:")+64 || of.Shared {
					t.Errorf("file %+v", of)
				}
			}
		})
	}
}

// An error names file, line and column, and holds nothing that the file does.
func TestAccountErrors(t *testing.T) {
	long := "login,password\n" + strings.Repeat("x", maxAccountLine) + ",Secret-1\n"
	for _, tt := range []struct{ name, content, want string }{
		{"empty", "", "users.csv:1:1: is empty"},
		{"blank lines", "\n\n", "users.csv:1:1: is empty"},
		{"no header", "ann,Secret-1\nbob,Secret-2\n", "users.csv:1:1: is no header; the first line names the columns"},
		{"a header of another program", "name;password\n", "users.csv:1:1: is no header"},
		{"unknown column", "login,Secret-1,password\n", "users.csv:1:7: column 2 is none of login, password and token"},
		{"a column twice", "login,password,login\n", "users.csv:1:16: column 3 has the name of an earlier one"},
		{"no password", "login\nann\n", "users.csv:1:1: has no column password"},
		{"no login", "password\nSecret-1\n", "users.csv:1:1: has no column login"},
		{"too few fields", "login,password\nann\n", "users.csv:2:1: has 1 fields; want 2"},
		{"too many fields", "login,password\nann,Secret-1\n\nbob,Secret-2,Secret-3\n", "users.csv:4:14: has 3 fields; want 2"},
		{"no value of the password", "login,password\nann,\n", "users.csv:2:5: password is empty"},
		{"no value of the login", "login,password\n,Secret-1\n", "users.csv:2:1: login is empty"},
		{"no value of the token", "token,login\nSecret-1,ann\n,bob\n", "users.csv:3:1: token is empty"},
		{"nothing of all", "login,password,token\n,,\n", "users.csv:2:1: login is empty"},
		{"a password of nobody", "login,password,token\n,Secret-1,Secret-2\n", "users.csv:2:1: login is empty"},
		{"a login twice", "login,password\nann,Secret-1\nbob,Secret-2\nAnn,Secret-3\nbob,x\n", "users.csv:4:1: login is that of line 2"},
		{"a token twice", "login,token\nann,Secret-1\nbob,Secret-1\n", "users.csv:3:5: token is that of line 2"},
		{"an open quote", "login,password\nä,\"Secret-1\nbob,Secret-2\n", "users.csv:2:3: the quote that begins here is not closed"},
		{"more after a quote", "login,password\nann,\"Secret\"-1\n", "users.csv:2:13: the field goes on"},
		{"a quote inside", "login,password\nann,Sec\"ret-1\n", "users.csv:2:8: a quote inside a field"},
		{"a space", "login,password\n ann,Secret-1\n", "users.csv:2:1: login begins or ends with a space"},
		{"a token of two words", "token\nSecret 1\n", "users.csv:2:1: the token holds a character"},
		{"tabs", "login,password\nann\tSecret-1\n", "users.csv:2:4: holds a tab"},
		{"another encoding", "login,password\n\xfcve,Secret-1\n", "users.csv:2:1: is not UTF-8"},
		{"no lines", long, "users.csv:2:1: the line is longer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := ReadAccounts(accountFile(t, tt.content), 10)
			if _, ok := errors.AsType[*AccountError](err); !ok ||
				!strings.HasPrefix(err.Error(), tt.want) {
				t.Fatalf("%v, want %s", err, tt.want)
			}
			if strings.Contains(err.Error(), "Secret") || strings.Contains(err.Error(), "ann") {
				t.Errorf("the error holds a field: %v", err)
			}
		})
	}
}

func TestAccountFiles(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := ReadAccounts(filepath.Join(dir, "none.csv"), 1); !errors.Is(
		err,
		fs.ErrNotExist,
	) {
		t.Errorf("no file: %v", err)
	}
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	if _, _, err := ReadAccounts(filepath.Join(dir, "pipe"), 1); err == nil ||
		!strings.Contains(err.Error(), "named pipe") {
		t.Errorf("a pipe: %v", err)
	}
	path := accountFile(t, "token\nt1\n")
	_, before, err := ReadAccounts(path, 1)
	must(t, err)
	must(t, errors.Join(os.WriteFile(path, []byte("token\nt2\n"), 0o600), os.Chmod(path, 0o640)))
	if _, after, err := ReadAccounts(path, 1); err != nil || after.Digest == before.Digest ||
		!after.Shared {
		t.Errorf("another content for others to read too: %+v after %+v, %v", after, before, err)
	}
}

// Accounts do not show what they hold.
func TestAccountText(t *testing.T) {
	a := Account{"ann", "Secret-1", "Secret-2", 7}
	for _, x := range []any{a, &a, []Account{a}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if text := fmt.Sprintf(verb, x); strings.Contains(text, "Secret") {
				t.Errorf("%s of %T shows a secret: %s", verb, x, text)
			}
		}
	}
}

// User i has row i, whatever its behavior is.
func TestDealtAccounts(t *testing.T) {
	const users = 50
	all := &Accounts{File: "users.csv"}
	for i := range users + 7 {
		all.Rows = append(all.Rows, Account{Token: fmt.Sprint("t", i), Line: i + 2})
	}
	shares := []float64{0.9, 0.1}
	of, deal := all.Deal(users, shares...), NewStrata(shares...)
	for i := range users {
		class, rank := deal.Next()
		if got := of[class].Rows[rank]; got != all.Rows[i] {
			t.Errorf("user %d, %d of behavior %d, has the account of %v", i, rank, class, got)
		}
	}
	if n := len(of[0].Rows) + len(of[1].Rows); n != users || of[1].At(0) == "" ||
		len(of[1].Rows) != 5 {
		t.Errorf("%d accounts dealt, %d of them to a tenth", n, len(of[1].Rows))
	}
}

// What is accepted is the same without its byte order mark, with other ends of lines, and in
// quotes.
func FuzzReadAccounts(f *testing.F) {
	f.Add("login,password\nann,a1\n")
	f.Add("\xef\xbb\xbftoken,login,password\r\n,ann,\"a,\"\"1\"\r\n")
	f.Fuzz(func(t *testing.T, content string) {
		path := filepath.Join(t.TempDir(), "f")
		read := func(s string) (*Accounts, error) {
			must(t, os.WriteFile(path, []byte(s), 0o600))
			a, _, err := ReadAccounts(path, 1000)
			return a, err
		}
		a, err := read(content)
		if err != nil {
			return
		}
		quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
		again := "login,password,token"
		for _, r := range a.Rows {
			again += "\r\n" + quote(r.Login) + "," + quote(r.Password) + "," + quote(r.Token)
		}
		b, err := read(again)
		if err != nil || len(b.Rows) != len(a.Rows) {
			t.Fatalf("written again: %v", err)
		}
		for i, r := range b.Rows {
			if r.Line = a.Rows[i].Line; r != a.Rows[i] {
				t.Errorf("row %d is another one", i)
			}
		}
	})
}
