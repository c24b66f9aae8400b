module github.com/tareperf/tare/examples/pricelist

go 1.26.0

require github.com/tareperf/tare v0.0.0

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace github.com/tareperf/tare => ../..
