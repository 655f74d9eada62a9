package keytext

import (
	"fmt"
	"strconv"

	"gorm.io/gorm"
)

type User struct {
	ID    int64 `gorm:"primaryKey"`
	Phone string
	Age   int
}

func text(db *gorm.DB, user User, name string) {
	s := strconv.FormatInt(user.ID, 10)
	_ = len(s) == 16                       // want "The length of s"
	_ = len(s) < 10                        // want "The length of s"
	_ = 8 <= len(s)                        // want "The length of s"
	_ = s[1:4]                             // want "s, the text of a key, is cut"
	_ = s[:8]                              // want "s, the text of a key, is cut"
	_ = fmt.Sprintf("%013d", user.ID)      // want "user.ID is a key and is padded with %013d"
	_ = fmt.Sprintf("%d-%8d", 1, user.ID)  // want "user.ID is a key and is padded with %8d"
	_ = fmt.Sprint(user.ID)[:3]            // want "is cut"
	db.First(&user, s)                     // want "GORM takes the text s for SQL"
	_ = s == ""                            // fine
	_ = len(s) == 0                        // fine
	_ = len(s) > 20                        // fine
	_ = len(user.Phone) == 16              // fine
	_ = user.Phone[1:4]                    // fine
	_ = fmt.Sprintf("%013d", user.Age)     // fine
	_ = fmt.Sprintf("%d", user.ID)         // fine
	_ = fmt.Sprintf("%3d %d", 1, user.ID)  // fine
	_ = name[:2]                           // fine
	db.First(&user, "name = 'a'")          // fine
	db.First(&user, user.ID)               // fine
	db.Where("name = ?", name).Find(&user) // fine
}
