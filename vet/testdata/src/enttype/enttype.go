package enttype

import "entgo.io/ent/schema/field"

type Kind uint8

func kinds(t field.Type, k Kind) {
	switch t { // want "The switch over t has no case for keys"
	case field.TypeInt:
	case field.TypeString:
	}
	switch t { // fine
	case field.TypeInt, field.TypeOther:
	}
	switch t { // fine
	case field.TypeInt:
	default:
	}
	switch k { // fine
	case 1:
	}
	switch { // fine
	case t == field.TypeInt:
	}
}
