module myriarch.dev/bench/opamp-go

go 1.25.0
