package omitempty

import "github.com/snowkey-go/snowkey/schema/pk"

type User struct {
	ID     pk.ID       `json:"id,omitempty"`    // want "ID is left out of the JSON if it's 0"
	Group  pk.Of[User] `json:"group,omitempty"` // want "Group is left out"
	Boss   *pk.ID      `json:"boss,omitempty"`  // fine
	Friend pk.ID       `json:"friend"`          // fine
	Name   string      `json:"name,omitempty"`  // fine
	Age    int         `json:"age,omitempty"`   // fine
}
