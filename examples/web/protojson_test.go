package main

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/snowkey-go/snowkey/schema/pk"
)

// messages contains the types that protoc would generate from
//
//	message Numbered { int64 id = 1; }
//	message Named { string id = 1; }
var messages = func() protoreflect.MessageDescriptors {
	message := func(name string, typ descriptorpb.FieldDescriptorProto_Type) *descriptorpb.DescriptorProto {
		return &descriptorpb.DescriptorProto{Name: new(name), Field: []*descriptorpb.FieldDescriptorProto{{
			Name: new("id"), Number: proto.Int32(1), Type: typ.Enum(),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}}}
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("web.proto"), Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			message("Numbered", descriptorpb.FieldDescriptorProto_TYPE_INT64),
			message("Named", descriptorpb.FieldDescriptorProto_TYPE_STRING),
		},
	}, nil)
	if err != nil {
		panic(err)
	}
	return file.Messages()
}()

func newMessage(name protoreflect.Name) (message *dynamicpb.Message, id protoreflect.FieldDescriptor) {
	m := messages.ByName(name)
	return dynamicpb.NewMessage(m), m.Fields().ByName("id")
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
	message, field := newMessage("Numbered")
	var set func(n int64)
	switch id := in.id.(type) {
	case *int64:
		set = func(n int64) { *id = n }
	case *pk.ID:
		set = func(n int64) { *id = pk.ID(n) }
	case *pk.Text:
		set = func(n int64) { *id = pk.Text(n) }
	case *pk.Of[User]:
		set = func(n int64) { *id = pk.Of[User](n) }
	default:
		return errNoWay
	}
	if err := protojson.Unmarshal([]byte(wire), message); err != nil {
		return err
	}
	set(message.Get(field).Int())
	return nil
}

func protoString(in target, wire string) error {
	message, field := newMessage("Named")
	if err := protojson.Unmarshal([]byte(wire), message); err != nil {
		return err
	}
	return setText(in.id, message.Get(field).String())
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
	message, id := newMessage("Numbered")
	message.Set(id, protoreflect.ValueOfInt64(pk.ID(high).Int64()))
	out, err := protojson.Marshal(message)
	fmt.Println(string(out), err)
	// Output: {"id":"1234567890123456789"} <nil>
}
