// The reference library of OpAMP (opamp-go) as a program, so that tests can hold Myriarch's server against its client
// and Myriarch's client against its server:
//
//	reference client -endpoint ws://…   an agent that accepts packages
//	reference server -listen ADDRESS    a server that answers, and sends what it is told to
//
// Whatever happens is said as one JSON line on standard output: {"ev": NAME, …, "msg": the message as protojson}.
// SIGINT and SIGTERM end it as its user would.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "client" {
		return runAgent(ctx, args[1:])
	}
	if len(args) > 0 && args[0] == "server" {
		return runServer(ctx, args[1:])
	}
	return fmt.Errorf("say client or server, then -h for its flags")
}

type fields map[string]any

var output sync.Mutex

// say writes one line; lines of several goroutines never mix.
func say(event string, more fields) {
	line := fields{"ev": event}
	for name, value := range more {
		line[name] = value
	}
	written, err := json.Marshal(line)
	if err != nil {
		written = []byte(fmt.Sprintf(`{"ev":"unwritable","text":%q}`, err.Error()))
	}
	output.Lock()
	defer output.Unlock()
	os.Stdout.Write(append(written, '\n'))
}

// sayMessage writes a message of the protocol; bytes in it are base64, zero values are absent.
func sayMessage(event string, message proto.Message) {
	written, err := protojson.Marshal(message)
	if err != nil {
		say("unwritable", fields{"text": err.Error()})
		return
	}
	say(event, fields{"msg": json.RawMessage(written)})
}

// complaints passes on what the library logs as an error; its debug output is of no use to a test.
type complaints struct{}

func (complaints) Debugf(context.Context, string, ...any) {}

func (complaints) Errorf(_ context.Context, format string, values ...any) {
	say("complaint", fields{"text": fmt.Sprintf(format, values...)})
}
