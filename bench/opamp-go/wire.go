package main

import (
	"encoding/binary"
	"fmt"
	"time"
)

func varintField(to []byte, number int, value uint64) []byte {
	if value == 0 {
		return to
	}
	return binary.AppendUvarint(binary.AppendUvarint(to, uint64(number<<3)), value)
}

func bytesField(to []byte, number int, value []byte) []byte {
	to = binary.AppendUvarint(binary.AppendUvarint(to, uint64(number<<3|2)), uint64(len(value)))
	return append(to, value...)
}

func fixedField(to []byte, number int, value uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint(to, uint64(number<<3|1)), value)
}

// begin is what every message has: header byte, UID, sequence number, capabilities.
func (a *agent) begin() (message []byte, end []byte) {
	message = bytesField([]byte{0}, 1, a.uid)
	message = varintField(message, 2, a.sequence)
	a.sequence++
	return message, varintField(nil, 4, capabilities)
}

func (a *agent) message(what string) []byte {
	message, end := a.begin()
	message = append(message, end...)
	switch what {
	case "same":
		message = bytesField(message, 5, a.health(a.startedAt))
	case "changing":
		message = bytesField(message, 5, a.health(uint64(time.Now().UnixNano())))
	}
	return message
}

// full is the state of a collector as a supervisor reports it.
func (a *agent) full() []byte {
	message, end := a.begin()
	attribute := func(to []byte, number int, key, value string) []byte {
		pair := bytesField(nil, 1, []byte(key))
		pair = bytesField(pair, 2, bytesField(nil, 1, []byte(value)))
		return bytesField(to, number, pair)
	}
	description := attribute(nil, 1, "service.name", "otelcol-contrib")
	description = attribute(description, 1, "service.version", "0.160.0")
	description = attribute(description, 2, "host.name", fmt.Sprintf("load-%05d", a.number))
	description = attribute(description, 2, "os.type", "linux")
	description = attribute(description, 2, "host.arch", "amd64")
	message = bytesField(message, 3, description)
	message = append(message, end...)
	message = bytesField(message, 5, a.health(a.startedAt))
	return bytesField(message, 7, nil)
}

func (a *agent) health(at uint64) []byte {
	one := func(at uint64) []byte {
		health := varintField(nil, 1, 1)
		health = fixedField(health, 2, a.startedAt)
		health = bytesField(health, 4, []byte("StatusOK"))
		return fixedField(health, 5, at)
	}
	health := one(at)
	for i := range a.components {
		entry := bytesField(nil, 1, fmt.Appendf(nil, "receiver:c%02d", i))
		entry = bytesField(entry, 2, one(at))
		health = bytesField(health, 6, entry)
	}
	return health
}

// flagsOf is field 6 of a ServerToAgent with its header byte.
func flagsOf(message []byte) uint64 {
	for rest := message[1:]; len(rest) > 0; {
		tag, n := binary.Uvarint(rest)
		rest = rest[n:]
		value, n := binary.Uvarint(rest)
		if n <= 0 {
			return 0
		}
		rest = rest[n:]
		if tag == 6<<3 {
			return value
		}
		if tag&7 == 2 && uint64(len(rest)) >= value {
			rest = rest[value:]
		}
	}
	return 0
}
