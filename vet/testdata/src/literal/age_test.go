package literal

import "testing"

func TestAge(t *testing.T) {
	if (&User{Age: 7}).Age != 7 { // fine
		t.Fail()
	}
	if GetUserByID(0).ID == 0 { // fine
		t.Log("none")
	}
}
