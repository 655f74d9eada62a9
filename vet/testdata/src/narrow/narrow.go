package narrow

import (
	"math/bits"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/snowkey-go/snowkey/schema/pk"
	"gorm.io/gorm"
)

type User struct {
	gorm.Model
	Visits int64
}

type Order struct {
	ID     pk.ID `gorm:"primaryKey"`
	UserID int64
}

func conversions(user User, order Order) {
	_ = int32(user.ID)        // want "user.ID is a key, and int32 has 32 bits for it"
	_ = uint16(order.ID)      // want "uint16 has 16 bits"
	_ = float64(order.UserID) // want "float64 rounds numbers above 2.53"
	_ = int(order.UserID)     // want "int has 32 bits on 32-bit platforms"
	_ = float32(user.ID)      // want "float32 has 24 bits"
	_ = int32(user.Visits)    // fine
	_ = int64(user.ID)        // fine
	_ = uint64(order.ID)      // fine
	_ = float64(user.Visits)  // fine
	_ = int(user.Visits)      // fine
	id := user.ID
	list := []int64{order.UserID}
	for _, one := range list {
		_ = int32(one) // want "one is a key"
	}
	for i := range list {
		_ = int32(i) // fine
	}
	helper(int64(id), user.Visits)
	_ = int32(len(list)) // fine
}

func helper(first, second int64) {
	_ = int32(first)  // want "first is a key"
	_ = int32(second) // fine
}

func requests(db *gorm.DB, c *gin.Context, claims map[string]any) {
	var user User
	id, err := strconv.Atoi(c.Param("id")) // want "int has 32 bits on 32-bit platforms"
	db.First(&user, id)
	narrow, err := strconv.ParseUint(c.Param("id"), 10, 32) // want "numbers above 32 bits are refused"
	db.Where("id = ?", narrow).Find(&user)
	size, err := strconv.ParseUint(c.Param("id"), 10, bits.UintSize) // want "an integer of bits.UintSize has 32 bits on 32-bit platforms"
	user.ID = uint(size)                                             // want "size is a key, and uint has 32 bits"
	wide, err := strconv.ParseInt(c.Param("id"), 10, 64)             // fine
	byID(db, wide)
	ignored, _ := strconv.ParseInt(c.Param("id"), 10, 64) // want "ignored is 0 or the largest number"
	byID(db, ignored)
	user.ID = uint(claims["id"].(float64))                 // want "A key in a map of encoding/json is a float64"
	page, err := strconv.Atoi(c.Param("page"))             // fine
	limit, _ := strconv.ParseInt(c.Param("limit"), 10, 32) // fine
	ratio := claims["ratio"].(float64)                     // fine
	user.Visits = limit + int64(page) + int64(ratio)
	_ = err
}

// idOf returns a key to its caller.
func idOf(v any) uint {
	switch v := v.(type) {
	case float64: // want "A key in a map of encoding/json is a float64"
		return uint(v)
	case uint: // fine
		return v
	}
	return 0
}

func size(v any) int64 {
	switch v := v.(type) {
	case float64: // fine
		return int64(v)
	}
	return 0
}

func fromTool(user *User, arguments map[string]any) {
	user.ID = idOf(arguments["id"])
	user.Visits = size(arguments["visits"])
}

// byID is about a key because of its condition.
func byID(db *gorm.DB, n int64) *User {
	var user User
	_ = int32(n) // want "n is a key"
	db.Where("id = ?", n).Find(&user)
	return &user
}

// GetUser is about a model, and its parameter has the name of a key.
func GetUser(id int64) *User {
	_ = int32(id) // want "id is a key"
	return nil
}

// Retry is not about a model.
func Retry(id int64) {
	_ = int32(id) // fine
}

func parse(c *gin.Context, name string) int64 {
	n, _ := strconv.ParseInt(c.Param(name), 10, 32) // want "numbers above 32 bits" "n is 0 or the largest number"
	return n
}

func useParse(db *gorm.DB, c *gin.Context) {
	byID(db, parse(c, "id"))
	_ = int32(parse(c, "page")) // fine
}
