package pk_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/snowkey-go/snowkey/schema/pk"
)

func Example() {
	type User struct {
		ID      pk.ID  `json:"id"`
		Manager *pk.ID `json:"manager"` // NULL in the column, null in JSON
		Name    string `json:"name"`
	}
	out, _ := json.Marshal(User{ID: 1234567890123456789, Name: "Ada"})
	fmt.Println(string(out))

	var in User
	_ = json.Unmarshal([]byte(`{"id": "1234567890123456788", "manager": 1234567890123456789}`), &in)
	fmt.Println(in.ID, *in.Manager)
	// Output:
	// {"id":"1234567890123456789","manager":null,"name":"Ada"}
	// 1234567890123456788 1234567890123456789
}

func ExampleID_json() {
	var id pk.ID
	for _, in := range []string{`"1234567890123456789"`, `1234567890123456789`, `1.2e18`} {
		fmt.Println(json.Unmarshal([]byte(in), &id))
	}
	fmt.Println(id)
	// Output:
	// <nil>
	// <nil>
	// pk: pk.ID cannot hold "1.2e18": want a JSON string or integer without fraction or exponent, such as "1234567890123456789"
	// 1234567890123456789
}

func ExampleParse() {
	id, err := pk.Parse("1234567890123456789")
	fmt.Println(id, err)

	_, err = pk.Parse("00042")
	if refused, ok := errors.AsType[*pk.Error](err); ok {
		fmt.Println(refused.Value, "-", refused.Reason)
	}
	// Output:
	// 1234567890123456789 <nil>
	// "00042" - want plain decimal such as "1234567890123456789": digits only, no leading zero
}

// SortText also gives any key a short text form, which sorts in the order of the keys.
func ExampleSortText() {
	ids := []pk.ID{1234567890123456789, 42, 1234567890123456788}
	var texts []string
	for _, id := range ids {
		texts = append(texts, pk.SortText(id).String())
	}
	slices.Sort(texts)
	for _, text := range texts {
		short, err := pk.ParseSort(text)
		fmt.Println(text, short.ID(), err)
	}
	// Output:
	// 000000000001A 42 <nil>
	// 128GGYHYYK08M 1234567890123456788 <nil>
	// 128GGYHYYK08N 1234567890123456789 <nil>
}

// Use Text for an existing VARCHAR column, so that the program works with a number
// while the database compares text with text.
func ExampleText() {
	var key pk.Text
	_ = key.Scan([]byte("1234567890123456789")) // what a driver delivers
	sent, _ := key.Value()                      // what a driver gets
	fmt.Printf("%d %#v\n", key, sent)
	// Output: 1234567890123456789 "1234567890123456789"
}

type (
	Author struct{ ID pk.Of[Author] }
	Book   struct {
		ID     pk.Of[Book]
		Author pk.Of[Author]
	}
)

// With typed keys, passing the key of the wrong entity is a compile error.
func ExampleOf() {
	ada := Author{ID: 1234567890123456789}
	book := Book{ID: 1234567890123456788, Author: ada.ID}
	// book.Author = book.ID
	//   cannot use book.ID (variable of type pk.Of[Book]) as pk.Of[Author] value in assignment

	out, _ := json.Marshal(book)
	fmt.Println(string(out))
	fmt.Println(book.Author == ada.ID, book.Author.ID() == pk.ID(1234567890123456789))
	// Output:
	// {"ID":"1234567890123456788","Author":"1234567890123456789"}
	// true true
}

// Use String if a struct keeps its key as a string, but the column is a BIGINT.
func ExampleString() {
	type Account struct {
		ID     pk.String
		Parent pk.String
	}
	var a Account
	_ = a.ID.Scan(int64(1234567890123456789))
	_ = a.Parent.Scan(nil)
	id, _ := a.ID.Value()
	parent, _ := a.Parent.Value()
	fmt.Printf("%q %q\n%#v %#v\n", a.ID, a.Parent, id, parent)
	// Output:
	// "1234567890123456789" ""
	// 1234567890123456789 <nil>
}
