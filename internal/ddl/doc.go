// Package ddl splits SQL into tokens and reads column types.
//
// It serves all dialects and packages that look at definitions: schema/catalog,
// schema/autoinc and the integrations. Atlas (ariga.io/atlas) and the SQL parsers
// for each dialect do much more. They are not used because the root module
// requires nothing outside the standard library, and because the definitions come
// from a server that has accepted them: only names, strings, comments and types
// have to be told apart.
package ddl
