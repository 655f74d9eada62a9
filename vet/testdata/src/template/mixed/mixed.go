// Package mixed has keys that are text and others that are numbers.
package mixed

import "github.com/snowkey-go/snowkey/schema/pk"

type User struct {
	ID pk.String `gorm:"primaryKey"`
}

type Post struct {
	ID int64 `gorm:"primaryKey"`
}

var templates = []string{
	`{{printf "%d" .User.ID}}`,                       // want `.User.ID is a key, which is text, and is printed with %d`
	`{{range .Posts}}{{printf "%d" .ID}}{{end}}`,     // fine
	`{{if eq .Post.ID 1}}the first one{{end}}`,       // fine
	`{{printf "%d" .Menu.ID}}{{if eq .ID 5}}{{end}}`, // fine
}
