package literal

import "testing"

func TestUser(t *testing.T) {
	user := GetUserByID(1) // want "This test file has 3 literal keys"
	if user.ID != 1 || user.Age > 99 {
		t.Fail()
	}
	_ = User{ID: 3, Age: 4}
}
