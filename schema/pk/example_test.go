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

// Each of these forms has one text for every number. It always has the same length and
// sorts like the number.
func ExampleFormatBase58() {
	for _, id := range []pk.ID{42, 1234567890123456788, 1234567890123456789} {
		fmt.Println(pk.FormatHex(id), pk.FormatBase58(id), pk.FormatBase62(id))
	}
	// Output:
	// 000000000000002a 1111111111j 0000000000g
	// 112210f47de98114 3sDK21t5nHH 1TCKi1nFuNg
	// 112210f47de98115 3sDK21t5nHJ 1TCKi1nFuNh
}

// Text with other characters, of another length or above 64 bits is an error.
func ExampleParseBase58() {
	for _, text := range []string{"3sDK21t5nHJ", "3sDK21t5nH0", "sDK21t5nHJ", "zzzzzzzzzzz"} {
		fmt.Println(pk.ParseBase58(text))
	}
	// Output:
	// 1234567890123456789 <nil>
	// 0 pk: pk.ID cannot hold "3sDK21t5nH0": want 11 characters of Bitcoin's base58: 1-9, A-Z and a-z without I, O and l
	// 0 pk: pk.ID cannot hold "sDK21t5nHJ": want 11 characters of Bitcoin's base58: 1-9, A-Z and a-z without I, O and l
	// 0 pk: pk.ID cannot hold "zzzzzzzzzzz": more than 64 bits; the largest text is "jpXCZedGfVQ"
}

type Team struct {
	ID pk.Prefixed[Team] `json:"id"`
}

func (Team) Prefix() string { return "team" }

type Member struct {
	ID   pk.Prefixed[Member] `json:"id"`
	Team pk.Prefixed[Team]   `json:"team"` // a foreign key has the type of the key
}

func (Member) Prefix() string { return "member" }

// The database has a BIGINT, and everything outside has text that names the entity.
func ExamplePrefixed() {
	team := Team{ID: 1234567890123456789}
	ada := Member{ID: 1234567890123456788, Team: team.ID}
	// ada.Team = ada.ID
	//   cannot use ada.ID (variable of type pk.Prefixed[Member]) as pk.Prefixed[Team] value in assignment

	out, _ := json.Marshal(ada)
	fmt.Println(string(out))
	column, _ := ada.Team.Value() // what the database gets
	fmt.Println(column)
	parsed, err := pk.ParsePrefixed[Team]("team_128GGYHYYK08N")
	fmt.Println(parsed.ID(), err)

	// Text of another entity, and a number, are refused.
	var in Member
	fmt.Println(json.Unmarshal([]byte(`{"team": "member_128GGYHYYK08M"}`), &in))
	fmt.Println(json.Unmarshal([]byte(`{"team": 1234567890123456789}`), &in))
	// Output:
	// {"id":"member_128GGYHYYK08M","team":"team_128GGYHYYK08N"}
	// 1234567890123456789
	// 1234567890123456789 <nil>
	// pk: pk.Prefixed[pk_test.Team] cannot hold "member_128GGYHYYK08M": want text with the prefix of this type, as in "team_128GGYHYYK08N"
	// pk: pk.Prefixed[pk_test.Team] cannot hold "1234567890123456789": want text with the prefix of this type, as in "team_128GGYHYYK08N"
}
