// Package cloud has the names that Prometheus's remote write mentions of the Azure SDK's package.
package cloud

// Configuration would hold the endpoints of a cloud.
type Configuration struct{}

// The clouds, without their endpoints.
var (
	AzureChina      Configuration
	AzureGovernment Configuration
	AzurePublic     Configuration
)
