package script

import (
	"encoding/json"
	"strconv"
	"sync"

	"github.com/grafana/sobek"
)

// open returns a file of the script's folder, in the init code alone: text, or with "b" its bytes.
func (r *realm) open(c sobek.FunctionCall) sobek.Value {
	name := c.Argument(0).String()
	if !r.init {
		panic(r.fault("open(%q) outside of the init code; open files at the script's top level", name))
	}
	data, err := r.opener(name)
	if err != nil {
		panic(r.fault("%v", err))
	}
	if c.Argument(1).String() == "b" {
		return r.rt.ToValue(r.rt.NewArrayBuffer(append([]byte(nil), data...)))
	}
	return r.rt.ToValue(string(data))
}

// dataNames are the members of the module k6/data.
var dataNames = []string{"SharedArray"}

func dataMember(r *realm, _ string) sobek.Value {
	return r.rt.ToValue(func(c sobek.ConstructorCall) *sobek.Object { return r.sharedArray(c) })
}

// arrays hold the data of each SharedArray once, for all users of a process.
type arrays struct {
	mu   sync.Mutex
	made map[string][]any
}

// sharedArray is the constructor SharedArray(name, function): the first user's function makes the
// data.
func (r *realm) sharedArray(c sobek.ConstructorCall) *sobek.Object {
	name := c.Argument(0).String()
	f, ok := sobek.AssertFunction(c.Argument(1))
	switch {
	case !r.init:
		panic(r.fault("new SharedArray(%q) outside of the init code", name))
	case !ok || name == "":
		panic(r.fault("new SharedArray(name, function): a name and a function are needed"))
	}
	a := &r.play.arrays
	a.mu.Lock()
	data, ok := a.made[name]
	a.mu.Unlock()
	if !ok { // several users may come here at once: they make the same
		text, err := r.encode(must(f(sobek.Undefined())))
		if err != nil {
			panic(err)
		}
		if err := json.Unmarshal([]byte(text), &data); err != nil || data == nil {
			panic(r.fault("new SharedArray(%q): its function returns no array", name))
		}
		a.mu.Lock()
		if a.made == nil {
			a.made = map[string][]any{}
		}
		a.made[name] = data
		a.mu.Unlock()
	}
	return r.shared(data).(*sobek.Object)
}

// shared returns a view of decoded JSON that a script can read and not change.
func (r *realm) shared(v any) sobek.Value {
	switch v := v.(type) {
	case []any:
		return r.rt.NewDynamicArray(&sharedList{r, v})
	case map[string]any:
		return r.rt.NewDynamicObject(&sharedMap{r: r, of: v})
	}
	return r.rt.ToValue(v)
}

type sharedList struct {
	r  *realm
	of []any
}

// Len implements sobek.DynamicArray.
func (l *sharedList) Len() int { return len(l.of) }

// Get implements sobek.DynamicArray.
func (l *sharedList) Get(i int) sobek.Value {
	if i < 0 || i >= len(l.of) {
		return nil
	}
	return l.r.shared(l.of[i])
}

// Set implements sobek.DynamicArray.
func (l *sharedList) Set(i int, _ sobek.Value) bool {
	panic(l.r.fault("element %s of a SharedArray cannot be changed", strconv.Itoa(i)))
}

// SetLen implements sobek.DynamicArray.
func (l *sharedList) SetLen(int) bool {
	panic(l.r.fault("the length of a SharedArray cannot be changed"))
}

type sharedMap struct {
	fixed
	r  *realm
	of map[string]any
}

// Get implements sobek.DynamicObject.
func (m *sharedMap) Get(key string) sobek.Value {
	if v, ok := m.of[key]; ok {
		return m.r.shared(v)
	}
	return nil
}

// Has implements sobek.DynamicObject.
func (m *sharedMap) Has(key string) bool {
	_, ok := m.of[key]
	return ok
}

// Keys implements sobek.DynamicObject: in the order of the alphabet, as the data has none.
func (m *sharedMap) Keys() []string { return sortedKeys(m.of) }
