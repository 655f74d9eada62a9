package main

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/snowkey-go/snowkey/schema/pk"
)

func TestGin(t *testing.T) {
	query := ginBind(func(c *gin.Context, r any) error { return c.ShouldBindQuery(r) })
	form := ginBind(func(c *gin.Context, r any) error { return c.ShouldBind(r) })
	path := ginBind(func(c *gin.Context, r any) error { return c.ShouldBindUri(r) })
	checkTable(t, []edge{
		{name: "`ShouldBindQuery`", wire: sentInQuery, nothing: "GET /users", read: query},
		{name: "`ShouldBind`, a form", wire: sentInForm, nothing: "POST name=Ada", read: form},
		{name: "`ShouldBindUri`", wire: sentInPath, read: path},
	})
}

func ginBind(bind func(*gin.Context, any) error) func(target, string) error {
	return func(in target, wire string) error {
		engine := gin.New()
		handler := func(c *gin.Context) {
			if err := bind(c, in.request); err != nil {
				c.String(http.StatusBadRequest, err.Error())
			}
		}
		engine.GET("/users", handler)
		engine.GET("/users/:id", handler)
		engine.POST("/users", handler)
		return serve(engine, wire)
	}
}

// This handler for gin rejects requests without an id.
func Example_gin() {
	engine := gin.New()
	engine.GET("/users", func(c *gin.Context) {
		var in struct {
			ID pk.ID `form:"id" binding:"gt=0"`
		}
		if err := c.ShouldBindQuery(&in); err != nil {
			c.String(http.StatusBadRequest, err.Error())
			return
		}
		c.JSON(http.StatusOK, in)
	})
	fmt.Println(get(engine, "/users?id=1234567890123456789"))
	fmt.Println(get(engine, "/users?id=1e3"))
	fmt.Println(get(engine, "/users"))
	// Output:
	// 200 {"ID":"1234567890123456789"}
	// 400 pk: pk.ID cannot hold "1e3": want plain decimal such as "1234567890123456789": digits only, no leading zero
	// 400 Key: 'ID' Error:Field validation for 'ID' failed on the 'gt' tag
}

// TestGinKnowsAnotherName checks that gin's binder only calls UnmarshalText if the tag
// asks for it. Otherwise, a key type that has no other method is treated as an int64.
func TestGinKnowsAnotherName(t *testing.T) {
	for field, want := range map[any]string{
		new(struct {
			ID textOnly `form:"id"`
		}): "&{0}",
		new(struct {
			ID textOnly `form:"id,parser=encoding.TextUnmarshaler"`
		}): "UnmarshalText was called",
	} {
		var got string
		engine := gin.New()
		engine.GET("/users", func(c *gin.Context) {
			got = fmt.Sprint(field)
			if err := c.ShouldBindQuery(field); err != nil {
				got = err.Error()
			}
		})
		if err := serve(engine, "GET /users?id="); err != nil || got != want {
			t.Errorf("%T: got %s, %v, want %s", field, got, err, want)
		}
	}
}

type textOnly int64

func (*textOnly) UnmarshalText([]byte) error { return errors.New("UnmarshalText was called") }
