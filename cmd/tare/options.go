package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// optionSet is a flag set whose help is in sections.
type optionSet struct {
	*flag.FlagSet
	sections []optionSection
}

type optionSection struct {
	title string
	flags []*flag.Flag
}

func newOptionSet(name string) *optionSet {
	o := &optionSet{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError)}
	o.SetOutput(io.Discard) // errors and help are printed by the command
	return o
}

// section groups the flags that define defines under a title.
func (o *optionSet) section(title string, define func()) {
	seen := map[string]bool{}
	o.VisitAll(func(f *flag.Flag) { seen[f.Name] = true })
	define()
	s := optionSection{title: title}
	o.VisitAll(func(f *flag.Flag) {
		if !seen[f.Name] {
			s.flags = append(s.flags, f)
		}
	})
	o.sections = append(o.sections, s)
}

// list defines a flag of comma-separated words.
func (o *optionSet) list(to *[]string, name, usage string) {
	o.Func(name, usage, func(s string) error {
		*to = nil
		for word := range strings.SplitSeq(s, ",") {
			*to = append(*to, strings.TrimSpace(word))
		}
		return nil
	})
}

// given tells which flags were set.
func (o *optionSet) given() map[string]bool {
	set := map[string]bool{}
	o.Visit(func(f *flag.Flag) { set[f.Name] = true })
	return set
}

// parse takes flags before and behind the arguments, and returns those.
func (o *optionSet) parse(args []string) (rest []string, err error) {
	for {
		if err := o.Parse(args); err != nil {
			return nil, err
		}
		if args = o.Args(); len(args) == 0 {
			return rest, nil
		}
		rest, args = append(rest, args[0]), args[1:]
	}
}

// help prints every section.
func (o *optionSet) help(w io.Writer) {
	for _, s := range o.sections {
		fmt.Fprintf(w, "\n%s:\n", s.title)
		for _, f := range s.flags {
			value, usage := flag.UnquoteUsage(f)
			// Where the name of the value stands in brackets, it is for the left
			// side only.
			usage = strings.Replace(strings.Replace(usage, " ("+value+")", "", 1), "("+value+", ", "(", 1)
			left := "  --" + f.Name
			if value != "" {
				left += " " + value
			}
			switch f.DefValue {
			case "", "0", "0s", "false":
			default:
				usage += fmt.Sprintf(" (default %s)", f.DefValue)
			}
			if len(left) > 27 {
				fmt.Fprintf(w, "%s\n%28s%s\n", left, "", usage)
			} else {
				fmt.Fprintf(w, "%-28s%s\n", left, usage)
			}
		}
	}
}
