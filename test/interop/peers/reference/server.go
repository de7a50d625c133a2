package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/open-telemetry/opamp-go/protobufs"
	"github.com/open-telemetry/opamp-go/server"
	"github.com/open-telemetry/opamp-go/server/types"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// every capability that a server of the specification can have.
const serverCapabilities = 0x7f

// peers knows the connection over which each agent spoke last.
type peers struct {
	token string

	guard sync.Mutex
	known map[string]types.Connection
}

func runServer(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("server", flag.ContinueOnError)
	listen := set.String("listen", "127.0.0.1:4320", "address of the OpAMP endpoint, whose path is /v1/opamp")
	control := set.String("ctl", "", "address where POST /send?uid=HEX takes a ServerToAgent as protojson")
	token := set.String("token", "", "the bearer token that agents must have; without it any may come")
	quiet := set.Bool("quiet", false, "say nothing of messages: for measurements")
	if err := set.Parse(args); err != nil {
		return err
	}
	all := &peers{token: *token, known: map[string]types.Connection{}}
	listener := server.New(complaints{})
	settings := server.StartSettings{ListenEndpoint: *listen, Settings: server.Settings{
		Callbacks: types.Callbacks{OnConnecting: func(request *http.Request) types.ConnectionResponse {
			return all.admit(request, *quiet)
		}},
	}}
	if err := listener.Start(settings); err != nil {
		return err
	}
	if *control != "" {
		closeControl, err := all.serveControl(*control)
		if err != nil {
			return err
		}
		defer closeControl()
	}
	say("listening", fields{"address": listener.Addr().String()})
	<-ctx.Done()
	return listener.Stop(context.Background())
}

func (p *peers) admit(request *http.Request, quiet bool) types.ConnectionResponse {
	if p.token != "" && request.Header.Get("Authorization") != "Bearer "+p.token {
		say("refused", fields{"from": request.RemoteAddr})
		return types.ConnectionResponse{HTTPStatusCode: http.StatusUnauthorized}
	}
	answer := func(_ context.Context, over types.Connection, message *protobufs.AgentToServer) *protobufs.ServerToAgent {
		if !quiet {
			sayMessage("AgentToServer", message)
		}
		p.remember(hex.EncodeToString(message.InstanceUid), over)
		return &protobufs.ServerToAgent{InstanceUid: message.InstanceUid, Capabilities: serverCapabilities}
	}
	return types.ConnectionResponse{Accept: true, ConnectionCallbacks: types.ConnectionCallbacks{
		OnMessage:         answer,
		OnConnectionClose: p.forget,
		OnReadMessageError: func(_ types.Connection, _ int, _ []byte, err error) {
			say("unreadable", fields{"text": err.Error()})
		},
	}}
}

func (p *peers) remember(uid string, over types.Connection) {
	p.guard.Lock()
	defer p.guard.Unlock()
	p.known[uid] = over
}

func (p *peers) forget(closed types.Connection) {
	p.guard.Lock()
	defer p.guard.Unlock()
	for uid, connection := range p.known {
		if connection == closed {
			delete(p.known, uid)
			say("closed", fields{"uid": uid})
		}
	}
}

// serveControl lets a test have a message sent: to one agent, or without uid to all.
func (p *peers) serveControl(address string) (func() error, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /send", func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		message := &protobufs.ServerToAgent{}
		if err == nil {
			err = protojson.Unmarshal(body, message)
		}
		if err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
			return
		}
		sent := p.send(request.Context(), request.URL.Query().Get("uid"), message)
		_ = json.NewEncoder(response).Encode(fields{"sent": sent})
	})
	control := &http.Server{Handler: routes}
	go func() {
		if err := control.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			say("complaint", fields{"text": err.Error()})
		}
	}()
	return control.Close, nil
}

// send says over how many connections the message went. Each agent is addressed by its own UID.
func (p *peers) send(ctx context.Context, only string, message *protobufs.ServerToAgent) int {
	p.guard.Lock()
	defer p.guard.Unlock()
	sent := 0
	for uid, connection := range p.known {
		if only != "" && only != uid {
			continue
		}
		addressed := proto.CloneOf(message)
		addressed.InstanceUid, _ = hex.DecodeString(uid)
		if err := connection.Send(ctx, addressed); err != nil {
			say("complaint", fields{"text": err.Error()})
			continue
		}
		sent++
	}
	return sent
}
