// Package gormid fills primary keys in GORM.
package gormid
