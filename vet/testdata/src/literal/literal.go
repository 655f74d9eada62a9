package literal

type User struct {
	ID  int64 `gorm:"primaryKey"`
	Age int64
}

func GetUserByID(id int64) *User { return &User{ID: id} }
