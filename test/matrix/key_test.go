package matrix

import (
	"context"
	"reflect"
	"strconv"
	"sync"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/internal/keytype"
	"github.com/snowkey-go/snowkey/schema/pk"
)

// A keyType is a type that keys can have, written as on the page.
type keyType string

const (
	idKey       keyType = "pk.ID"
	typedKey    keyType = "pk.Of[T]"
	prefixedKey keyType = "pk.Prefixed[T]"
	publicKey   keyType = "public.ID[T]"
	stringKey   keyType = "pk.String"
	textKey     keyType = "pk.Text"
	sortKey     keyType = "pk.SortText"
	int64Key    keyType = "int64"
)

// column returns the type of the column, which must exist on all databases.
func (k keyType) column() string {
	switch k {
	case textKey:
		return "VARCHAR(20)"
	case sortKey:
		return "CHAR(13)"
	}
	return "BIGINT"
}

// text returns the key in the form in which it is stored in the column.
func (k keyType) text(key int64) string {
	if k == sortKey {
		return pk.SortText(key).String()
	}
	return strconv.FormatInt(key, 10)
}

// literal returns the key as an SQL literal.
func (k keyType) literal(key int64) string {
	if k.column() == "BIGINT" {
		return k.text(key)
	}
	return "'" + k.text(key) + "'"
}

// parse is the inverse of text. It doesn't accept anything else.
func (k keyType) parse(text string) (int64, error) {
	if k == sortKey {
		key, err := pk.ParseSort(text)
		return key.Int64(), err
	}
	key, err := pk.Parse(text)
	return key.Int64(), err
}

// keyOf returns a key of type K. For 0, this is the zero value.
func keyOf[K any](number int64) K {
	var key K
	if number != 0 {
		keytype.Set(reflect.ValueOf(&key).Elem(), number)
	}
	return key
}

// numberOf returns the number of a key, or -1 if it isn't a valid key.
func numberOf(key any) int64 {
	switch v := reflect.ValueOf(key); v.Kind() {
	case reflect.Int64:
		return v.Int()
	case reflect.String:
		if v.Len() == 0 {
			return 0
		}
		if number, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return number
		}
	}
	return -1
}

// A source issues pairs of adjacent ids far above 2^53, with a gap after each pair. The
// two ids of a pair are equal as float64, so rounding shows. The gaps show if any code
// counts up from one id instead of keeping all of them.
type source struct {
	mu   sync.Mutex
	out  int64 // number of ids issued
	left int   // number of ids until it fails; negative if it never does
}

const firstID = 1<<60 + 1

// errSource is the error with which the source fails.
var errSource error = &idgen.ClockError{Behind: 7}

func newSource() *source { return &source{left: -1} }

func (s *source) Next(ctx context.Context) (int64, error) {
	ids, err := s.Append(ctx, nil, 1)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

func (s *source) Append(_ context.Context, dst []int64, n int) ([]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left >= 0 {
		if n > s.left {
			return dst, errSource
		}
		s.left -= n
	}
	for range n {
		dst = append(dst, firstID+s.out/2*1000+s.out%2)
		s.out++
	}
	return dst, nil
}

// issued reports whether the source has issued the id.
func (s *source) issued(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	pair, place := (id-firstID)/1000, (id-firstID)%1000
	return id >= firstID && place < 2 && 2*pair+place < s.out
}

// sourceKey is the context key by which the hooks of models find the source.
type sourceKey struct{}

// sourceOf returns the source in ctx, or nil if there is none.
func sourceOf(ctx context.Context) idgen.Source {
	s, _ := ctx.Value(sourceKey{}).(idgen.Source)
	return s
}
