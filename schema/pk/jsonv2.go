//go:build goexperiment.jsonv2 && go1.27

package pk

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
)

// The methods in this file are those of encoding/json/v2, which Go has from 1.27 on. They write and accept the same as
// MarshalJSON and UnmarshalJSON, and save the allocation of the text.

func (f *form) jsonTo(enc *jsontext.Encoder, n int64) error {
	dst, err := f.appendJSON(enc.AvailableBuffer(), n)
	if err != nil {
		return err
	}
	return enc.WriteValue(dst)
}

func jsonFrom(dst json.Unmarshaler, dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	return dst.UnmarshalJSON(value)
}

// MarshalJSONTo implements [encoding/json/v2.MarshalerTo]; see [ID.MarshalJSON].
func (id ID) MarshalJSONTo(enc *jsontext.Encoder) error { return idForm.jsonTo(enc, int64(id)) }

// UnmarshalJSONFrom implements [encoding/json/v2.UnmarshalerFrom]; see [ID.UnmarshalJSON].
func (id *ID) UnmarshalJSONFrom(dec *jsontext.Decoder) error { return jsonFrom(id, dec) }

// MarshalJSONTo implements [encoding/json/v2.MarshalerTo]; see [ID.MarshalJSON].
func (id Of[T]) MarshalJSONTo(enc *jsontext.Encoder) error { return ID(id).MarshalJSONTo(enc) }

// UnmarshalJSONFrom implements [encoding/json/v2.UnmarshalerFrom]; see [ID.UnmarshalJSON].
func (id *Of[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error { return jsonFrom(id, dec) }

// MarshalJSONTo implements [encoding/json/v2.MarshalerTo]; see [Prefixed.MarshalJSON].
func (id Prefixed[T]) MarshalJSONTo(enc *jsontext.Encoder) error {
	f := id.form()
	return f.jsonTo(enc, int64(id))
}

// UnmarshalJSONFrom implements [encoding/json/v2.UnmarshalerFrom]; see
// [Prefixed.UnmarshalJSON].
func (id *Prefixed[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error { return jsonFrom(id, dec) }

// MarshalJSONTo implements [encoding/json/v2.MarshalerTo]; see [Text.MarshalJSON].
func (t Text) MarshalJSONTo(enc *jsontext.Encoder) error { return textForm.jsonTo(enc, int64(t)) }

// UnmarshalJSONFrom implements [encoding/json/v2.UnmarshalerFrom]; see
// [Text.UnmarshalJSON].
func (t *Text) UnmarshalJSONFrom(dec *jsontext.Decoder) error { return jsonFrom(t, dec) }

// MarshalJSONTo implements [encoding/json/v2.MarshalerTo]; see [SortText.MarshalJSON].
func (t SortText) MarshalJSONTo(enc *jsontext.Encoder) error { return sortForm.jsonTo(enc, int64(t)) }

// UnmarshalJSONFrom implements [encoding/json/v2.UnmarshalerFrom]; see
// [SortText.UnmarshalJSON].
func (t *SortText) UnmarshalJSONFrom(dec *jsontext.Decoder) error { return jsonFrom(t, dec) }

// MarshalJSONTo implements [encoding/json/v2.MarshalerTo]; see [String.MarshalJSON].
func (s String) MarshalJSONTo(enc *jsontext.Encoder) error {
	id, err := s.ID()
	if err != nil {
		return err
	}
	if s == "" {
		return enc.WriteToken(jsontext.Null)
	}
	return stringForm.jsonTo(enc, int64(id))
}

// UnmarshalJSONFrom implements [encoding/json/v2.UnmarshalerFrom]; see
// [String.UnmarshalJSON].
func (s *String) UnmarshalJSONFrom(dec *jsontext.Decoder) error { return jsonFrom(s, dec) }
