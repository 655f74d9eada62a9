// Package javascript tests which ids survive in programs of JavaScript that read them from
// a database. The servers and the drivers are real, so make nightly runs it.
package javascript
