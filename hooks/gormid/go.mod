module github.com/snowkey-go/snowkey/hooks/gormid

go 1.26.0

require github.com/snowkey-go/snowkey v0.1.0

require gorm.io/gorm v1.25.12

require (
	github.com/jinzhu/inflection v1.0.0 // indirect
	github.com/jinzhu/now v1.1.5 // indirect
	golang.org/x/text v0.14.0 // indirect
)
