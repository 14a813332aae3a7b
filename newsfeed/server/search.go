package server

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// mostHits is how many stories one search reads, the newest.
const mostHits = 1000

// searcher is the index of stories by their words.
type searcher interface {
	// Add hands a story over. It is found once the index was refreshed.
	Add(ctx context.Context, sender int64, text string) error
	// Commit refreshes the index: added stories are found from then on.
	Commit(ctx context.Context) error
	// Search returns the senders of stories that contain a word, each once, the newest story's
	// first.
	Search(ctx context.Context, word string) ([]int64, error)
	Describe(ctx context.Context) (StoreInfo, error)
	Close()
}

// Operations of the own search store.
const (
	searchAdd = iota + 1
	searchCommit
	searchFind
	searchInfo
)

// ownSearch is the client of the own store.
type ownSearch struct{ ownStore }

func newOwnSearch(addr string) ownSearch {
	return ownSearch{ownStore{newLink(addr), searchInfo, []string{"documents"}}}
}

func (s ownSearch) Add(ctx context.Context, sender int64, text string) error {
	b := appendInt(newFrame(make([]byte, 0, 32+len(text)), searchAdd), sender)
	return s.call(ctx, appendText(b, text), nil)
}

func (s ownSearch) Commit(ctx context.Context) error {
	return s.call(ctx, newFrame(nil, searchCommit), nil)
}

func (s ownSearch) Search(ctx context.Context, word string) (senders []int64, err error) {
	err = s.call(ctx, appendText(newFrame(nil, searchFind), word), func(f *fields) {
		senders = make([]int64, f.count())
		for i := range senders {
			senders[i] = f.int()
		}
	})
	return senders, err
}

// searchEngine is an inverted index in memory, over a journal of the documents. A list of postings
// holds the distances between document numbers as varints.
type searchEngine struct {
	kept
	senders []int64 // by document
	pending []string
	terms   map[string]*postings
	refresh time.Time
}

type postings struct {
	last int // document
	list []byte
}

func newSearchEngine(cfg StoreConfig) (*searchEngine, error) {
	s := &searchEngine{terms: map[string]*postings{}}
	var err error
	s.journal, err = openJournal(cfg, "search.journal", func(_ int64, record []byte) error {
		f := &fields{b: record}
		sender, text := f.int(), f.text()
		s.senders, s.pending = append(s.senders, sender), append(s.pending, text)
		if len(s.pending) == 1000 {
			s.commit()
		}
		return f.end()
	})
	s.commit()
	return s, err
}

func (s *searchEngine) handle(op byte, f *fields, out []byte) ([]byte, error) {
	switch op {
	case searchAdd:
		record := slices.Clone(f.b)
		sender, text := f.int(), f.text()
		if err := f.end(); err != nil {
			return out, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, err := s.append(record); err != nil {
			return out, err
		}
		s.senders, s.pending = append(s.senders, sender), append(s.pending, text)
		return out, nil
	case searchCommit:
		if err := f.end(); err != nil {
			return out, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.commit()
		return out, nil
	case searchFind:
		word := f.text()
		if err := f.end(); err != nil {
			return out, err
		}
		found := s.find(word)
		out = appendInt(out, int64(len(found)))
		for _, sender := range found {
			out = appendInt(out, sender)
		}
		return out, nil
	case searchInfo:
		s.mu.RLock()
		defer s.mu.RUnlock()
		return s.describe(out, KindSearch, map[string]string{
			"refresh":   DefaultRefresh.String(),
			"documents": fmt.Sprint(len(s.senders)),
		}), nil
	}
	return out, errFrame
}

// words are the terms of a text: runs of letters and digits, in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
}

// commit takes the pending documents into the index. The lock is held.
func (s *searchEngine) commit() {
	first := len(s.senders) - len(s.pending)
	for i, text := range s.pending {
		doc := first + i
		for _, term := range words(text) {
			p := s.terms[term]
			if p == nil {
				p = &postings{last: -1}
				s.terms[strings.Clone(term)] = p
			}
			if p.last == doc {
				continue
			}
			p.list = binary.AppendUvarint(p.list, uint64(doc-p.last))
			p.last = doc
		}
	}
	s.pending = s.pending[:0]
}

// find returns the senders of the newest documents with a word, each once.
func (s *searchEngine) find(word string) (senders []int64) {
	terms := words(word)
	if len(terms) != 1 {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := s.terms[terms[0]]
	if p == nil {
		return nil
	}
	var docs []int
	for doc, b := -1, p.list; len(b) > 0; {
		d, n := binary.Uvarint(b)
		doc, b = doc+int(d), b[n:]
		docs = append(docs, doc)
	}
	seen := map[int64]bool{}
	for _, doc := range slices.Backward(docs[max(0, len(docs)-mostHits):]) {
		if sender := s.senders[doc]; !seen[sender] {
			seen[sender] = true
			senders = append(senders, sender)
		}
	}
	return senders
}

func (s *searchEngine) tick(now time.Time) error {
	s.mu.Lock()
	if now.Sub(s.refresh) >= DefaultRefresh {
		s.refresh = now
		s.commit()
	}
	s.mu.Unlock()
	return s.journal.tick(now)
}
