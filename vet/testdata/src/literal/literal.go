package literal

type User struct {
	ID     int64 `gorm:"primaryKey"`
	UserID int64 // who invited this one
	Age    int64
}

func GetUserByID(id int64) *User { return &User{ID: id} }

type users interface {
	UserGet(int64) (*User, error)
	Newest(int) []User
}

const first = 1

func start(u users, user *User) (admin bool) {
	u.UserGet(first)     // want "The key 1 is expected, which a generated key isn't. Insert the row with this key"
	u.Newest(10)         // fine
	if user.ID < first { // fine
		user.ID = first     // fine
		user.UserID = first // want "The key 1 is expected"
	}
	user.Age = first            // fine
	user = &User{ID: 1}         // fine
	none := user.ID == 0        // fine
	return user.ID == 1 || none // want "The key 1 is expected"
}
