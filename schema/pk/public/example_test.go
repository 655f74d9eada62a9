package public_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/snowkey-go/snowkey/schema/pk"
	"github.com/snowkey-go/snowkey/schema/pk/public"
)

// In a program, the keys come from the environment: os.Getenv("PUBLIC_ID_KEYS").
const publicIDKeys = "A:e9e5dff1276a152cc7c660b699d08ef7240684f49c6c0f3094aede5eb33c2d91"

type User struct {
	ID   public.ID[User] `json:"id"`
	Name string          `json:"name"`
}

func (User) Prefix() string { return "user" }

type Post struct {
	ID     public.ID[Post] `json:"id"`
	Author public.ID[User] `json:"author"`
}

func (Post) Prefix() string { return "post" }

// setDefault is what main does, except that main ends if there is an error.
func setDefault() {
	codec, err := public.Load(publicIDKeys)
	if err != nil {
		panic(err)
	}
	public.SetDefault(codec)
}

// The same struct is a row of a table and a JSON document.
func Example() {
	setDefault()

	user := User{ID: 1234567890123456789, Name: "Ada"}
	out, _ := json.Marshal(user)
	fmt.Println(string(out))
	column, _ := user.ID.Value() // what the database gets
	fmt.Println(column)

	var in User
	err := json.Unmarshal(out, &in)
	fmt.Println(in.ID.Int64(), err)
	// Output:
	// {"id":"A6zBCUJIhvwF2o4HTpYpynQ","name":"Ada"}
	// 1234567890123456789
	// 1234567890123456789 <nil>
}

// Neighbours have nothing in common, and a key of 1 looks like any other.
func ExampleID() {
	setDefault()
	for _, id := range []public.ID[User]{1, 2, 1234567890123456788, 1234567890123456789} {
		fmt.Println(id)
	}
	// Output:
	// A52cSdgrCiGoSCOMwDiRpwC
	// A7LQohjpxipwolLPL2sn3gY
	// A5g3AxibZxcfpDrLil8zTnE
	// A6zBCUJIhvwF2o4HTpYpynQ
}

// A handler needs no query to refuse an id that the program hasn't issued.
func ExampleParseID() {
	setDefault()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := public.ParseID[User](r.PathValue("id"))
		if err != nil {
			http.Error(w, "no such user", http.StatusNotFound)
			return
		}
		fmt.Fprintf(w, "SELECT name FROM users WHERE id = %d", id.Int64()) // with a placeholder in a real program
	})
	get := func(id string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", "/users/"+id, nil))
		fmt.Println(w.Code, strings.TrimSpace(w.Body.String()))
	}
	user := public.ID[User](1234567890123456789).String()
	get(user)
	get("B" + user[1:])                                // mistyped or forged
	get(public.ID[Post](1234567890123456789).String()) // a post's id
	get("1234567890123456789")                         // the number itself
	// Output:
	// 200 SELECT name FROM users WHERE id = 1234567890123456789
	// 404 no such user
	// 404 no such user
	// 404 no such user
}

// With other types of keys, call the codec. Conversions are the alternative.
func ExampleCodec() {
	codec, err := public.Load(publicIDKeys)
	if err != nil {
		fmt.Println(err)
		return
	}
	var key pk.ID = 1234567890123456789
	text, _ := codec.Encode("user", key.Int64())
	id, err := codec.Decode("user", text)
	fmt.Println(text, id, err)

	_, err = codec.Decode("post", text)
	if refused, ok := errors.AsType[*public.Error](err); ok {
		fmt.Println(refused)
	}
	// Output:
	// A6zBCUJIhvwF2o4HTpYpynQ 1234567890123456789 <nil>
	// public: "A6zBCUJIhvwF2o4HTpYpynQ" is not the id of a post; respond as if the row did not exist
}

// The first key makes new ids. The others still read ids that were made before.
func ExampleLoad_rotation() {
	before, _ := public.Load("A:e9e5dff1276a152cc7c660b699d08ef7240684f49c6c0f3094aede5eb33c2d91")
	after, err := public.Load("B:98658f56aa0efc6f5309484db584619996d33e372b1194aef46ecb56bb04c565 A:e9e5dff1276a152cc7c660b699d08ef7240684f49c6c0f3094aede5eb33c2d91")
	if err != nil {
		fmt.Println(err)
		return
	}
	link, _ := before.Encode("user", 1234567890123456789)
	id, err := after.Decode("user", link)
	fmt.Println(link, id, err)
	renewed, _ := after.Encode("user", id)
	fmt.Println(renewed)
	// Output:
	// A6zBCUJIhvwF2o4HTpYpynQ 1234567890123456789 <nil>
	// B30PQscgnPyPNtMyNvnUSdr
}
