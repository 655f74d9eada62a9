package template

import "github.com/snowkey-go/snowkey/schema/pk"

type User struct {
	ID   pk.String `gorm:"primaryKey"`
	Name string
	Age  int
}

type Post struct {
	ID     pk.String `gorm:"primaryKey"`
	UserID pk.String
}

var templates = []string{
	`{{range .Users}}<a href="/users/{{printf "%d" .ID}}">{{.Name}}</a>{{end}}`,   // want `.ID is a key, which is text, and is printed with %d`
	`{{.User.ID | printf "%08d"}}`,                                                // want `.User.ID is a key, which is text, and is printed with %08d`
	`{{range $i, $user := .Users}}{{printf "%d-%x" $i $user.ID}}{{end}}`,          // want `.user.ID is a key, which is text, and is printed with %x`
	`{{if eq .User.ID 5}}root{{end}}`,                                             // want `.User.ID is a key, which is text, and is compared with the number 5`
	`{{with .Author}}{{if and .Name (gt .UserID 0)}}{{.Name}}{{end}}{{end}}`,      // want `.UserID is a key, which is text, and is compared with the number 0`
	`{{define "row"}}{{if ne 1 .Post.UserID}}{{.}}{{end}}{{end}}`,                 // want `.Post.UserID is a key, which is text, and is compared with the number 1`
	`{{range .Users}}<a href="/users/{{printf "%s" .ID}}">{{.ID}}</a>{{end}}`,     // fine
	`{{printf "%d of %v" .Count .User.ID}}`,                                       // fine
	`{{printf "%d%% of %s" .Age .User.ID}}`,                                       // fine
	`{{if eq .User.ID $.Me.ID}}you{{else if eq .User.Age 5}}{{.User.Age}}{{end}}`, // fine
	`{{if gt (len .User.ID) 5}}{{slice .User.ID 0 5}}{{end}}`,                     // fine
	`{{ user.id === 5 }} {{printf "%d" .User.ID}}`,                                // fine
}
