package main

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/snowkey-go/snowkey/schema/pk"
)

// decode decodes a message that happens to have an int64 and a string, which wire calls id.
func decode(wire, field string) (*descriptorpb.UninterpretedOption, error) {
	message := new(descriptorpb.UninterpretedOption)
	return message, protojson.Unmarshal([]byte(strings.Replace(wire, "id", field, 1)), message)
}

func TestProtoJSON(t *testing.T) {
	checkTable(t, []edge{
		{name: "`int64 id`: `{\"id\":\"7\"}`", wire: jsonString, nothing: `{}`, read: protoNumber},
		{name: "`int64 id`: `{\"id\":7}`", numbers: true, wire: jsonNumber, nothing: `{}`, read: protoNumber},
		{name: "`string id`: `{\"id\":\"7\"}`", wire: jsonString, nothing: `{}`, read: protoString},
		{name: "`google.protobuf.Struct`: `{\"id\":7}`", numbers: true, wire: jsonNumber, nothing: `{}`, read: protoStruct},
	})
}

// protoNumber reads a protobuf int64, which can be converted with pk.ID(n).
func protoNumber(in target, wire string) error {
	message, err := decode(wire, "negativeIntValue")
	n := message.GetNegativeIntValue()
	switch id := in.id.(type) {
	case *int64:
		*id = n
	case *pk.ID:
		*id = pk.ID(n)
	case *pk.Text:
		*id = pk.Text(n)
	case *pk.Of[User]:
		*id = pk.Of[User](n)
	default:
		return errNoWay
	}
	return err
}

func protoString(in target, wire string) error {
	message, err := decode(wire, "identifierValue")
	if err != nil {
		return err
	}
	return setText(in.id, message.GetIdentifierValue())
}

func protoStruct(in target, wire string) error {
	id, ok := in.id.(*int64)
	if !ok {
		return errNoWay
	}
	var s structpb.Struct
	if err := protojson.Unmarshal([]byte(wire), &s); err != nil {
		return err
	}
	*id = int64(s.Fields["id"].GetNumberValue())
	return nil
}

// Since protojson writes an int64 as a string, it's as safe as a pk.ID.
func Example_protojson() {
	out, err := protojson.Marshal(wrapperspb.Int64(pk.ID(high).Int64()))
	fmt.Println(string(out), err)
	// Output: "1234567890123456789" <nil>
}
