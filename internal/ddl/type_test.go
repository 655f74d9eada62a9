package ddl

import (
	"reflect"
	"testing"
)

func TestParseType(t *testing.T) {
	for _, tc := range []struct {
		text  string
		want  Type
		class Class
	}{
		{"", Type{}, Other},
		{"BIGINT", Type{Name: "bigint"}, BigInt},
		{"bigint(20) unsigned", Type{Name: "bigint", Args: []int{20}, Unsigned: true}, BigInt},
		{"int unsigned zerofill", Type{Name: "int", Unsigned: true}, Int},
		{"UNSIGNED BIG INT", Type{Name: "big int", Unsigned: true}, Other},
		{"double precision", Type{Name: "double precision"}, Float},
		{"numeric(10, 2)", Type{Name: "numeric", Args: []int{10, 2}}, Decimal},
		{"numeric(3,-2)", Type{Name: "numeric", Args: []int{3, -2}}, Decimal},
		{"character varying(20)", Type{Name: "character varying", Args: []int{20}}, Char},
		{"varchar ( 13 ) COLLATE \"C\" CHECK (id <> '')", Type{Name: "varchar", Args: []int{13}}, Char},
		{"enum('1','2')", Type{Name: "enum"}, Other},
		{"bigserial", Type{Name: "bigserial"}, Serial},
		{"text -- unsigned", Type{Name: "text"}, Text},
		{"timestamp(3) without time zone", Type{Name: "timestamp", Args: []int{3}}, Other},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got := ParseType(tc.text)
			if !reflect.DeepEqual(got, tc.want) || got.Class() != tc.class {
				t.Errorf("got %+v of class %d, want %+v of class %d", got, got.Class(), tc.want, tc.class)
			}
		})
	}
}

func TestShapes(t *testing.T) {
	for _, tc := range []struct {
		dialect string
		shape   func(Type) Shape
		text    string
		want    Shape
	}{
		{"postgres", PostgresShape, "integer", Shape{Bits: 32}},
		{"postgres", PostgresShape, "numeric", Shape{Bits: 64}},
		{"postgres", PostgresShape, "numeric(10,2)", Shape{Bits: 27}},
		{"postgres", PostgresShape, "character varying(20)", Shape{Text: true}},
		{"postgres", PostgresShape, "uuid", Shape{}},
		{"mysql", MySQLShape, "mediumint(8) unsigned", Shape{Bits: 24, Unsigned: true}},
		{"mysql", MySQLShape, "decimal", Shape{Bits: 34}},
		{"mysql", MySQLShape, "decimal(19)", Shape{Bits: 64}},
		{"mysql", MySQLShape, "binary(8)", Shape{}},
		{"sqlite", SQLiteShape, "UNSIGNED BIG INT", Shape{Bits: 64}},
		{"sqlite", SQLiteShape, "DOUBLE", Shape{Bits: 54}},
		{"sqlite", SQLiteShape, "", Shape{}},
	} {
		t.Run(tc.dialect+"/"+tc.text, func(t *testing.T) {
			if got := tc.shape(ParseType(tc.text)); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}
