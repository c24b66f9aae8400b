package procfs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseCPUInfo(t *testing.T) {
	m, err := ParseCPUInfo("processor\t: 0\nmodel\t\t: 207\nmodel name\t: Intel(R) Xeon(R)\nmicrocode\t: 0x1\nflags\t\t: fpu hypervisor sse\n\nprocessor\t: 1\nmodel name\t: other\n")
	require.NoError(t, err)
	require.Equal(t, CPUModel{Model: "Intel(R) Xeon(R)", Microcode: "0x1", Hypervisor: true}, m)
	m, err = ParseCPUInfo("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n")
	require.NoError(t, err)
	require.Equal(t, "implementer 0x41 part 0xd0c", m.Model)
	_, err = ParseCPUInfo("")
	require.Error(t, err)
}

func TestParseMeminfoPressureSwap(t *testing.T) {
	m, err := ParseMeminfo("MemTotal:       24684092 kB\nHugePages_Total:       3\n")
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"MemTotal": 24684092 * 1024, "HugePages_Total": 3}, m)
	_, err = ParseMeminfo("MemTotal 3")
	require.Error(t, err)

	p, err := ParsePressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=12345\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=6\n")
	require.NoError(t, err)
	require.Equal(t, Pressure{SomeMicroseconds: 12345, FullMicroseconds: 6}, p)
	_, err = ParsePressure("full total=3")
	require.Error(t, err)

	s, err := ParseSwap("nr_free_pages 1\npswpin 3\npswpout 4\n")
	require.NoError(t, err)
	require.Equal(t, Swap{InPages: 3, OutPages: 4}, s)
	_, err = ParseSwap("pswpin 3\n")
	require.ErrorIs(t, err, ErrNotSupported)
}

func TestFrequencyIdleAndThrottleOfAFixture(t *testing.T) {
	cpu := "sys/devices/system/cpu/cpu1/"
	fs := tree(t, map[string]string{
		"sys/devices/system/cpu/online":                 "0-1\n",
		cpu + "cpufreq/scaling_governor":                "performance\n",
		cpu + "cpufreq/scaling_driver":                  "intel_pstate\n",
		cpu + "cpufreq/scaling_max_freq":                "3500000\n",
		cpu + "cpuidle/state0/name":                     "POLL\n",
		cpu + "cpuidle/state0/latency":                  "0\n",
		cpu + "cpuidle/state0/time":                     "7\n",
		cpu + "cpuidle/state0/usage":                    "2\n",
		cpu + "cpuidle/state0/disable":                  "1\n",
		cpu + "thermal_throttle/core_throttle_count":    "4\n",
		cpu + "thermal_throttle/package_throttle_count": "5\n",
	})
	f, err := fs.Frequency(1)
	require.NoError(t, err)
	require.Equal(t, Frequency{CPU: 1, Driver: "intel_pstate", Governor: "performance", MaximumKilohertz: 3500000}, f)
	_, err = fs.Frequency(0)
	require.ErrorIs(t, err, ErrNotSupported)
	states, err := fs.IdleStates(1)
	require.NoError(t, err)
	require.Equal(t, []IdleState{{Name: "POLL", TimeMicroseconds: 7, Usage: 2, Disabled: true}}, states)
	_, err = fs.IdleStates(0)
	require.ErrorIs(t, err, ErrNotSupported)
	counts, err := fs.ThrottleCounts(1)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"core_throttle_count": 4, "package_throttle_count": 5}, counts)
	driver, _, err := fs.IdleDriver()
	require.NoError(t, err)
	require.Equal(t, "none", driver, "no cpuidle directory beside the CPUs is an answer")
	_, _, err = tree(t, nil).IdleDriver()
	require.Error(t, err, "no sysfs at all is not")
}

func TestMemoryAndSwap(t *testing.T) {
	fs := tree(t, map[string]string{"proc/meminfo": "MemTotal: 100 kB\nSwapTotal: 8 kB\n"})
	total, err := fs.MemoryTotalBytes()
	require.NoError(t, err)
	require.EqualValues(t, 102400, total)
	swap, err := fs.SwapTotalBytes()
	require.NoError(t, err)
	require.EqualValues(t, 8192, swap)
	_, err = tree(t, map[string]string{"proc/meminfo": "MemTotal: 100 kB\n"}).SwapTotalBytes()
	require.EqualError(t, err, "procfs: meminfo has no SwapTotal")
}

func FuzzParseCPUInfo(f *testing.F) {
	f.Add("model name\t: x\nflags : hypervisor\n")
	f.Fuzz(func(t *testing.T, s string) { _, _ = ParseCPUInfo(s) })
}

func FuzzParseMeminfo(f *testing.F) {
	f.Add("MemTotal:  1 kB\n")
	f.Fuzz(func(t *testing.T, s string) { _, _ = ParseMeminfo(s) })
}

func FuzzParseSwap(f *testing.F) {
	f.Add("pswpin 3\npswpout 4\n")
	f.Fuzz(func(t *testing.T, s string) { _, _ = ParseSwap(s) })
}

func FuzzParsePressure(f *testing.F) {
	f.Add("some avg10=0.00 total=12345\n")
	f.Fuzz(func(t *testing.T, s string) { _, _ = ParsePressure(s) })
}
