package boxed

import (
	"encoding/gob"
	"encoding/json"

	"github.com/gorilla/sessions"
)

type User struct {
	ID   uint `gorm:"primaryKey"`
	Name string
	Age  uint
}

type Queue struct{}

func (Queue) Enqueue(kind string, args ...any) {}

type Log struct{}

func (Log) Add(key string, value any) {}

func login(s *sessions.Session, q Queue, log Log, user User) {
	s.Values["user"] = user.ID       // want "user.ID is a key and is stored with its type, uint"
	s.Set("user", user.ID)           // want "user.ID is a key and is stored"
	q.Enqueue("mail", user.ID)       // want "user.ID is a key and is stored"
	s.Values["name"] = user.Name     // fine
	s.Set("age", user.Age)           // fine
	log.Add("user", user.ID)         // fine
	s.Values["text"] = any("a text") // fine
}

func current(s *sessions.Session, user *User) bool {
	user.ID = s.Values["user"].(uint) // want "The assertion to uint panics"
	id := s.Get("user").(uint)        // want "The assertion to uint panics"
	other, ok := s.Get("user").(uint) // fine
	age := s.Get("age").(uint)        // fine
	name := s.Get("name").(string)    // fine
	user.Age = age
	user.Name = name
	return user.ID == id && ok && other == user.ID
}

type Options struct{ Age uint }

func save(g *gob.Encoder, j *json.Encoder, user User) {
	_ = g.Encode(user.ID)          // want "user.ID is a key and is stored with its type, uint"
	_ = g.Encode([]*User{&user})   // want "is stored with its key, whose type gob keeps"
	_ = g.Encode(user.Age)         // fine
	_ = g.Encode(Options{Age: 30}) // fine
	_ = j.Encode(user)             // fine
}
