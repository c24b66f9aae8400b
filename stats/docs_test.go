package stats_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plumbing needs no statistics in its documentation: arithmetic, accessors,
// errors, and what only composes documented functions. Methods by their type, so
// that no other one of the same name escapes.
var plumbing = []string{
	"NotTestableError.Error", "NotTestableError.Unwrap", "OptionError.Error", "PlanError.Error", "Warning.String",
	"Interval.Contains", "Interval.HalfWidth", "Interval.Percent", "Estimate.Testable", "Estimate.Effect", "Pooled.Effect",
	"Arm.PerResponse", "Total", "Ratios", "FromRounds", "Balance.Balanced", "CheckBalance",
	"FamilyPlan.Check", "Looks.Review", "AcrossSessions", "Judge", "Report",
}

// fullName is "Type.Method" or "Function".
func fullName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	r := d.Recv.List[0].Type
	if p, ok := r.(*ast.StarExpr); ok {
		r = p.X
	}
	return r.(*ast.Ident).Name + "." + d.Name.Name
}

// Every exported name is documented, and every exported statistical function
// has a formula (or says whose it shares), names its source and what it assumes.
func TestDocumentation(t *testing.T) {
	exempt := map[string]bool{}
	for _, name := range plumbing {
		exempt[name] = true
	}
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	checked := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if !d.Name.IsExported() {
					continue
				}
				checked++
				name, doc := fullName(d), d.Doc.Text()
				if d.Name.Name != "Error" { // an interface says it all
					require.NotEmpty(t, doc, "%s: %s", f.Name(), name)
				}
				if exempt[name] {
					delete(exempt, name)
					continue
				}
				require.Regexp(t, `[=±]|[Ff]ormula`, doc, "%s: %s has no formula", f.Name(), name)
				require.Regexp(t, `[Ss]ource`, doc, "%s: %s names no source", f.Name(), name)
				require.Regexp(t, `[Aa]ssum`, doc, "%s: %s names no assumption", f.Name(), name)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.IsExported() {
						require.NotEmpty(t, d.Doc.Text()+ts.Doc.Text(), "%s: %s", f.Name(), ts.Name.Name)
					}
				}
			}
		}
	}
	require.Greater(t, checked, 50)
	require.Empty(t, exempt, "exempt, and not there")
}
