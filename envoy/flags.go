package envoy

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// flagKind says what follows a flag on the command line.
type flagKind int

const (
	flagValue   flagKind = iota // --flag value
	flagNumber                  // --flag 5
	flagSwitch                  // --flag
	flagManaged                 // this package's to set
)

// flagTable is what `envoy --help` of 1.36 to 1.40 lists. option is the
// name under /server_info's command_line_options, where it is not the flag's
// own with underscores.
var flagTable = map[string]struct {
	kind   flagKind
	option string
	why    string // of flagManaged: what to use instead
}{
	"admin-address-path":            {kind: flagManaged, why: "Start chooses it"},
	"allow-unknown-fields":          {kind: flagSwitch, option: "allow_unknown_static_fields"},
	"allow-unknown-static-fields":   {kind: flagSwitch},
	"base-id":                       {kind: flagManaged, why: "hot restart is off"},
	"base-id-path":                  {kind: flagManaged, why: "hot restart is off"},
	"component-log-level":           {},
	"concurrency":                   {kind: flagManaged, why: "use Proxy.Concurrency"},
	"config-path":                   {kind: flagManaged, why: "use Proxy.Bootstrap"},
	"config-yaml":                   {kind: flagManaged, why: "use Proxy.Bootstrap"},
	"cpuset-threads":                {kind: flagManaged, why: "use Proxy.Concurrency"},
	"disable-extensions":            {option: "disabled_extensions"},
	"disable-hot-restart":           {kind: flagManaged, why: "always given"},
	"drain-strategy":                {},
	"drain-time-s":                  {kind: flagNumber, option: "drain_time"},
	"enable-core-dump":              {kind: flagSwitch},
	"enable-fine-grain-logging":     {kind: flagSwitch},
	"enable-mutex-tracing":          {kind: flagSwitch},
	fileFlushFlag:                   {kind: flagNumber, option: "file_flush_interval"},
	"file-flush-min-size-kb":        {kind: flagNumber, option: "file_flush_min_size"}, // from 1.37 on
	"help":                          {kind: flagManaged, why: "nothing would run"},
	"hot-restart-version":           {kind: flagManaged, why: "nothing would run"},
	"ignore-unknown-dynamic-fields": {kind: flagSwitch},
	"local-address-ip-version":      {},
	"log-format":                    {},
	"log-format-escaped":            {kind: flagSwitch},
	"log-level":                     {},
	"log-path":                      {kind: flagManaged, why: "the log goes to " + logFile + " in the run directory"},
	"log-stacktrace-single-entry":   {kind: flagSwitch}, // from 1.37 on
	"mode":                          {kind: flagManaged, why: "use Validate"},
	"parent-shutdown-time-s":        {kind: flagNumber, option: "parent_shutdown_time"},
	"reject-unknown-dynamic-fields": {kind: flagSwitch},
	"restart-epoch":                 {kind: flagManaged, why: "hot restart is off"},
	"service-cluster":               {},
	"service-node":                  {},
	"service-zone":                  {},
	"skip-deprecated-logs":          {kind: flagManaged, why: "LogProblems needs these lines"},
	"skip-hot-restart-on-no-parent": {kind: flagManaged, why: "hot restart is off"},
	"skip-hot-restart-parent-stats": {kind: flagManaged, why: "hot restart is off"},
	"socket-mode":                   {kind: flagManaged, why: "hot restart is off"},
	"socket-path":                   {kind: flagManaged, why: "hot restart is off"},
	"stats-tag":                     {},
	"use-dynamic-base-id":           {kind: flagManaged, why: "hot restart is off"},
	"version":                       {kind: flagManaged, why: "nothing would run"},
}

// FlagError is a flag that cannot be given.
type FlagError struct {
	Flag, Value string
	Why         string
}

func (e *FlagError) Error() string {
	return fmt.Sprintf("flag %q (value %q): %s", e.Flag, e.Value, e.Why)
}

// showsWarnings are the log levels at which deprecations and bugs are logged.
var showsWarnings = map[string]bool{"trace": true, "debug": true, "info": true, "warning": true, "warn": true}

// flags are all flags of p but those of the run directory, checked, defaults
// filled in. A switch has the value "true"; one that is off is not in it.
func (p Proxy) flags() (map[string]string, error) {
	if p.Concurrency < 0 {
		return nil, &FlagError{"concurrency", strconv.Itoa(p.Concurrency), "the number of workers is 1 or more; 0 means 1"}
	}
	out := map[string]string{
		"disable-hot-restart": "true",
		"concurrency":         strconv.Itoa(max(p.Concurrency, 1)),
		"log-level":           "warning",
		fileFlushFlag:         strconv.FormatInt(FileFlushInterval.Milliseconds(), 10),
	}
	for _, name := range sortedNames(p.Flags) {
		value := p.Flags[name]
		f, known := flagTable[name]
		fail := func(why string) (map[string]string, error) { return nil, &FlagError{name, value, why} }
		switch {
		case strings.HasPrefix(name, "-"):
			return fail("write the name without dashes")
		case name == "c" || name == "l" || name == "h":
			return fail("write the long name: the short one would make it possible to give it twice")
		case !known:
			return fail("Envoy 1.36 to 1.40 have no such flag; known are " + strings.Join(givableFlags(), ", "))
		case f.kind == flagManaged:
			return fail("not for Flags: " + f.why)
		case name == "log-level" && !showsWarnings[value]:
			return fail("LogProblems needs warnings: use warning, info, debug or trace")
		case f.kind == flagSwitch:
			switch value {
			case "", "true":
				out[name] = "true"
			case "false":
			default:
				return fail(`a switch is "true" or "false"`)
			}
			continue
		case f.kind == flagNumber:
			if _, err := strconv.ParseUint(value, 10, 32); err != nil {
				return fail("want a whole number")
			}
		case value == "":
			return fail("want a value; leave the flag out for Envoy's default")
		}
		out[name] = value
	}
	return out, nil
}

// arguments writes flags as a command line, sorted, so that arms with equal
// flags have equal command lines.
// CommandLine is the flags of every start of p, defaults included, in order;
// those that name files of the run are not among them.
func (p Proxy) CommandLine() ([]string, error) {
	flags, err := p.flags()
	if err != nil {
		return nil, err
	}
	return arguments(flags), nil
}

func arguments(flags map[string]string) []string {
	var args []string
	for _, name := range sortedNames(flags) {
		f := flagTable[name]
		args = append(args, "--"+name)
		if f.kind != flagSwitch && name != "disable-hot-restart" {
			args = append(args, flags[name])
		}
	}
	return args
}

func givableFlags() []string {
	var names []string
	for name, f := range flagTable {
		if f.kind != flagManaged {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// optionOf is the name of a flag in /server_info's command_line_options.
func optionOf(flag string) string {
	if o := flagTable[flag].option; o != "" {
		return o
	}
	return strings.ReplaceAll(flag, "-", "_")
}

func sortedNames(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
