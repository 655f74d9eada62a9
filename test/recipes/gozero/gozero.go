// Package gozero tests the models that goctl generates with the templates in template.
// See docs/sql.md.
//
// The tests run goctl and compare the result with the models in the repository. After
// changing the templates, run them with -update.
package gozero
