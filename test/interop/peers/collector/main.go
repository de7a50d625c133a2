// A small OpenTelemetry Collector for the interop suite: enough to have pipelines, a health endpoint and the extension
// through which upstream's supervisor speaks with it. One program stands for several releases: what it says of its
// version is set by the linker (-X main.version=0.150.0).
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/healthcheckextension"
	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/opampextension"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/debugexporter"
	"go.opentelemetry.io/collector/exporter/nopexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/nopreceiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

var (
	version = "0.149.0"
	// without names a component that this build lacks: a release that does not fit the host (-X main.without=batch).
	without = ""
	// endsAfter makes a release that starts, is healthy, and then ends by itself (-X main.endsAfter=1500ms).
	endsAfter = ""
)

func main() {
	endLater()
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{
			Command:     "otelcol-interop",
			Description: "Collector of Myriarch's interop suite",
			Version:     version,
		},
		Factories: components,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{
			ResolverSettings: confmap.ResolverSettings{
				DefaultScheme: "env",
				ProviderFactories: []confmap.ProviderFactory{
					fileprovider.NewFactory(),
					envprovider.NewFactory(),
					yamlprovider.NewFactory(),
				},
			},
		},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// components names what the collector can run. The nop receiver and exporter are needed by the supervisor, which starts
// every collector once with them to ask who it is. The opamp extension reports only components whose module is named.
func components() (otelcol.Factories, error) {
	made := otelcol.Factories{
		Telemetry:  otelconftelemetry.NewFactory(),
		Receivers:  byType[receiver.Factory](nopreceiver.NewFactory(), otlpreceiver.NewFactory()),
		Processors: byType[processor.Factory](batchprocessor.NewFactory()),
		Exporters: byType[exporter.Factory](
			debugexporter.NewFactory(),
			nopexporter.NewFactory(),
			otlphttpexporter.NewFactory(),
		),
		Extensions: byType[extension.Factory](healthcheckextension.NewFactory(), opampextension.NewFactory()),
	}
	made.ReceiverModules = moduleOfEach(made.Receivers, "go.opentelemetry.io/collector/receiver v0.149.0")
	made.ProcessorModules = moduleOfEach(made.Processors, "go.opentelemetry.io/collector/processor v0.149.0")
	made.ExporterModules = moduleOfEach(made.Exporters, "go.opentelemetry.io/collector/exporter v0.149.0")
	made.ExtensionModules = moduleOfEach(made.Extensions, "github.com/open-telemetry/opentelemetry-collector-contrib/extension v0.149.0")
	return made, nil
}

// endLater lets the collector end in the middle of its run. Its subcommands and --version are not touched.
func endLater() {
	lifetime, err := time.ParseDuration(endsAfter)
	if err != nil || len(os.Args) < 2 || !strings.HasPrefix(os.Args[1], "--") || os.Args[1] == "--version" {
		return
	}
	time.AfterFunc(lifetime, func() { os.Exit(7) })
}

func byType[F component.Factory](factories ...F) map[component.Type]F {
	named := make(map[component.Type]F, len(factories))
	for _, factory := range factories {
		if factory.Type().String() != without {
			named[factory.Type()] = factory
		}
	}
	return named
}

func moduleOfEach[F any](factories map[component.Type]F, module string) map[component.Type]string {
	modules := make(map[component.Type]string, len(factories))
	for name := range factories {
		modules[name] = module
	}
	return modules
}
