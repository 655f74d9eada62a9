package jsonnumber

import (
	"encoding/json"

	"github.com/gin-gonic/gin"
	"github.com/snowkey-go/snowkey/schema/pk"
	"gorm.io/gorm"
	"jsonnumber/entity"
)

type User struct {
	ID     int64 `gorm:"primaryKey" json:"id"` // want "User.ID holds a key and leaves as a JSON number"
	Visits int64 `json:"visits"`               // fine
	Hidden int64 `json:"-"`                    // fine
}

type Order struct {
	ID     uint `gorm:"primaryKey" json:"id,string"` // fine
	UserID uint `json:"user_id"`                     // want "Order.UserID holds a key"
	Price  uint `json:"price"`                       // fine
}

type Item struct {
	ID       pk.ID `gorm:"primaryKey" json:"id"` // fine
	ParentID int64 `json:"parent_id"`            // want "Item.ParentID holds a key"
}

// Answer is filled from keys.
type Answer struct {
	Author int64   `json:"author"` // want "Answer.Author holds a key"
	Ids    []int64 `json:"ids"`    // want "Answer.Ids holds a key"
	Number int64   `json:"number"` // fine
	Text   string  `json:"text"`   // fine
}

// Private has no tag.
type Private struct{ Author int64 } // fine

func answer(db *gorm.DB, c *gin.Context, user User, order Order, item Item) {
	a := Answer{Author: user.ID, Number: user.Visits}
	a.Ids = append(a.Ids, int64(order.UserID))
	_ = Private{Author: user.ID}
	_ = entity.UserDTO{
		ID:    user.ID, // want "UserDTO.ID holds a key"
		Count: user.Visits,
	}
	_ = entity.Page{Since: order.ID, Size: 3} // want "Page.Since holds a key"
	_ = entity.Page{Text: user.ID}            // fine
	c.JSON(200, gin.H{
		"id":    order.ID,         // want "order.ID is a key"
		"item":  item.ID,          // fine
		"name":  "x",              // fine
		"count": user.Visits,      // fine
		"text":  item.ID.String(), // fine
	})
	_, _ = json.Marshal(map[string]any{"user": user.ID}) // want "user.ID is a key"
	_, _ = json.Marshal(user.ID)                         // want "user.ID is a key"
	db.Updates(map[string]any{"user_id": user.ID})       // fine
	h := gin.H{}
	h["owner"] = order.UserID // want "order.UserID is a key"
	h["total"] = len(a.Ids)   // fine
	c.JSON(200, h)
}

// Own writes its own JSON.
type Own struct {
	ID int64 `gorm:"primaryKey" json:"id"` // fine
}

func (Own) MarshalJSON() ([]byte, error) { return nil, nil }
