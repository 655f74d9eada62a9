package order

import (
	"database/sql"

	"gorm.io/gorm"
)

func pages(db *gorm.DB, conn *sql.DB) {
	db.Where("id < ?", 1).Find(nil)                                                                    // want "Rows are read in the order of their keys"
	db.Order("id desc").Find(nil)                                                                      // want "Rows are read in the order"
	conn.Query("SELECT * FROM users ORDER BY id LIMIT 1")                                              // want "Rows are read in the order"
	conn.Query("SELECT * FROM users u WHERE u.id > $1 LIMIT 10", 10)                                   // want "Rows are read in the order"
	conn.Query("SELECT * FROM users WHERE id < ? ORDER BY created_at DESC LIMIT 9", 10)                // want "in the order of a time and continue after a key"
	db.Where("id = ?", 1).Find(nil)                                                                    // fine
	db.Where("paid < ?", 1).Find(nil)                                                                  // fine
	db.Order("name").Find(nil)                                                                         // fine
	db.Where("name = ?", "").Order("created_at").Find(nil)                                             // fine
	conn.Query("SELECT * FROM users ORDER BY identity")                                                // fine
	conn.Query("SELECT * FROM users WHERE created_at < ? ORDER BY created_at", 10)                     // fine
	conn.Query("SELECT * FROM users WHERE (created_at, id) < (?, ?) ORDER BY created_at, age", 10, 10) // fine
}
