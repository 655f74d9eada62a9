package main

import (
	"encoding"
	"fmt"
	"net/http"
	"testing"

	"github.com/labstack/echo/v5"

	"github.com/snowkey-go/snowkey/schema/pk"
)

func TestEcho(t *testing.T) {
	bind := echoRead(func(c *echo.Context, in target) error { return c.Bind(in.request) })
	checkTable(t, []edge{
		{name: "`Bind`, the query", wire: sentInQuery, nothing: "GET /users", read: bind},
		{name: "`Bind`, a form", wire: sentInForm, nothing: "POST name=Ada", read: bind},
		{name: "`Bind`, the path", wire: sentInPath, read: bind},
		{name: "`QueryParam[T]`", wire: sentInQuery, nothing: "GET /users", lenient: true, read: echoRead(func(c *echo.Context, in target) error { return in.queryParam(c) })},
		{name: "`QueryParamsBinder`: `Int64`, `String`, `TextUnmarshaler`", wire: sentInQuery, nothing: "GET /users", lenient: true, read: echoRead(echoBinder)},
		{name: "`QueryParamsBinder`: `MustInt64`, `MustString`, `MustTextUnmarshaler`", wire: sentInQuery, nothing: "GET /users", read: echoRead(echoMustBinder)},
	})
}

func echoRead(read func(*echo.Context, target) error) func(target, string) error {
	return func(in target, wire string) error {
		e := echo.New()
		handler := func(c *echo.Context) error {
			if err := read(c, in); err != nil {
				return c.String(http.StatusBadRequest, err.Error())
			}
			return c.NoContent(http.StatusOK)
		}
		e.GET("/users", handler)
		e.GET("/users/:id", handler)
		e.POST("/users", handler)
		return serve(e, wire)
	}
}

func echoBinder(c *echo.Context, in target) error {
	binder := echo.QueryParamsBinder(c)
	switch id := in.id.(type) {
	case *int64:
		binder.Int64("id", id)
	case *string:
		binder.String("id", id)
	case encoding.TextUnmarshaler:
		binder.TextUnmarshaler("id", id)
	}
	return binder.BindError()
}

func echoMustBinder(c *echo.Context, in target) error {
	binder := echo.QueryParamsBinder(c)
	switch id := in.id.(type) {
	case *int64:
		binder.MustInt64("id", id)
	case *string:
		binder.MustString("id", id)
	case encoding.TextUnmarshaler:
		binder.MustTextUnmarshaler("id", id)
	}
	return binder.BindError()
}

// This handler for echo rejects requests without an id.
func Example_echo() {
	e := echo.New()
	e.GET("/users", func(c *echo.Context) error {
		var id pk.ID
		if err := echo.QueryParamsBinder(c).MustTextUnmarshaler("id", &id).BindError(); err != nil {
			return c.String(http.StatusBadRequest, err.Error())
		}
		return c.JSON(http.StatusOK, map[string]pk.ID{"id": id})
	})
	fmt.Println(get(e, "/users?id=1234567890123456789"))
	fmt.Println(get(e, "/users?id="))
	// Output:
	// 200 {"id":"1234567890123456789"}
	// 400 code=400, message=required field value is empty, field=id
}
