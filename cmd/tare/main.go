package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tareperf/tare/loadgen"
)

// Exit statuses; doc.go says what they mean.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitNotAsAsked  = 3
	exitNoHeadroom  = 4
	exitInterrupted = 130
)

// streams are what a command reads and writes.
type streams struct {
	in       *os.File
	out, err io.Writer
}

// command is one word behind tare.
type command struct {
	name    string
	summary string // one line; "" hides the command from the list
	run     func(args []string, s streams) int
}

func commands() []command {
	return []command{
		{"load", "load a server at an exact rate and say whether the load was what was asked", load},
		{"doctor", "say what this machine can measure, and why not more", doctorCommand},
		{generatorCommand, "", generator},
	}
}

// generatorCommand is the process that load starts. Its input is a pipe, and
// it ends with that.
const generatorCommand = "generator-process"

func generator(args []string, s streams) int {
	if err := loadgen.Serve(s.in, s.out); err != nil {
		fmt.Fprintln(s.err, err)
		return exitError
	}
	return exitOK
}

func main() {
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

func run(args []string, s streams) int {
	if len(args) == 0 {
		usage(s.err)
		return exitUsage
	}
	name, args := args[0], args[1:]
	switch name {
	case "-h", "-help", "--help", "help":
		usage(s.out)
		return exitOK
	}
	for _, c := range commands() {
		if c.name == name {
			return c.run(args, s)
		}
	}
	fmt.Fprintf(s.err, "tare: there is no command %q\n\n", name)
	usage(s.err)
	return exitUsage
}

func usage(w io.Writer) {
	var b strings.Builder
	b.WriteString("tare measures what a proxy costs.\n\nUsage: tare COMMAND [flags] [arguments]\n\nCommands:\n")
	for _, c := range commands() {
		if c.summary != "" {
			fmt.Fprintf(&b, "  %-8s %s\n", c.name, c.summary)
		}
	}
	b.WriteString("\ntare COMMAND -h explains one of them.\n")
	io.WriteString(w, b.String())
}
