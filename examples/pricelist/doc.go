// Package pricelist holds experiments on real Envoy in front of nginx, one Go
// test for each row of a price list. It is a module of its own, so that what
// later rows need is not paid for by everybody who imports tare.
//
//	cd examples/pricelist
//	go test -v -count=1 -timeout 60m -run TestAccessLog .
//	go test -v -count=1 -timeout 60m -run TestFloor .
//
// Both need Envoy 1.40.0 and nginx; scripts/test at the root of the repository
// installs them where it may. With -short they are smokes of two minutes
// together that price nothing.
package pricelist
