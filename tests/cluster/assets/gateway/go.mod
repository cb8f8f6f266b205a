module prewarm.test/assets/gateway

go 1.26.0

require sigs.k8s.io/gateway-api v1.4.1
