package entity

type Tag struct {
	ID int64 `xorm:"pk 'id'"`
}

type Note struct{ Text string }
