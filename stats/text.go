package stats

import "fmt"

func text(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// percent writes a change with its interval, as in "+1.50% [+0.90, +2.20]".
func percent(value float64, i Interval) string {
	return fmt.Sprintf("%+.3g%% [%+.3g, %+.3g]", value, i.Low, i.High)
}
