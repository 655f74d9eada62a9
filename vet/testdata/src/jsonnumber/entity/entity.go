package entity

// These are what the API sends.

type UserDTO struct {
	ID    int64 `json:"id"`
	Count int64 `json:"count"` // fine
}

type Page struct {
	Since uint  `json:"since"`
	Size  int   `json:"size"` // fine
	Text  int64 `json:"text,string"`
}
