module go.opentelemetry.io/otel/trace

go 1.26.0

require go.opentelemetry.io/otel v1.44.0

replace go.opentelemetry.io/otel => ../otel
