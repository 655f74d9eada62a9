// Package ddl splits SQL into tokens and reads column types.
//
// It covers all dialects, and is used by every package that reads SQL definitions:
// schema/catalog, schema/autoinc and the integrations. See the documentation of
// schema/catalog for why we don't use a parser from another module.
package ddl
