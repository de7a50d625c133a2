package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/open-telemetry/opamp-go/client"
	"github.com/open-telemetry/opamp-go/client/types"
	"github.com/open-telemetry/opamp-go/protobufs"
)

// pairs is a flag that may be given several times, each as key=value.
type pairs []string

func (p *pairs) String() string { return strings.Join(*p, " ") }

func (p *pairs) Set(text string) error {
	if !strings.Contains(text, "=") {
		return fmt.Errorf("%q is not key=value", text)
	}
	*p = append(*p, text)
	return nil
}

func (p *pairs) attributes() []*protobufs.KeyValue {
	made := make([]*protobufs.KeyValue, 0, len(*p))
	for _, pair := range *p {
		key, value, _ := strings.Cut(pair, "=")
		text := &protobufs.AnyValue_StringValue{StringValue: value}
		made = append(made, &protobufs.KeyValue{Key: key, Value: &protobufs.AnyValue{Value: text}})
	}
	return made
}

type agentOptions struct {
	endpoint     string
	uid          string
	capabilities uint64
	heartbeat    time.Duration
	headers      pairs
	attributes   pairs
	packages     packageOptions
}

func readAgentOptions(args []string) (agentOptions, error) {
	options := agentOptions{}
	set := flag.NewFlagSet("client", flag.ContinueOnError)
	set.StringVar(&options.endpoint, "endpoint", "", "URL of the server: ws, wss, http or https")
	set.StringVar(&options.uid, "uid", "", "instance UID; without it a new one")
	bits := set.String("capabilities", "0x2819", "capabilities as a number; the default is what an updater has")
	set.DurationVar(&options.heartbeat, "heartbeat", 30*time.Second, "time between heartbeats, or polls over HTTP")
	set.Var(&options.headers, "header", "name=value of a header of the connection")
	set.Var(&options.attributes, "attr", "key=value of the agent's description")
	set.StringVar(&options.packages.folder, "dir", "", "where a package is kept, as package.bin")
	set.BoolVar(&options.packages.fail, "fail", false, "let every installation fail")
	if err := set.Parse(args); err != nil {
		return options, err
	}
	number, err := strconv.ParseUint(*bits, 0, 64)
	options.capabilities = number
	return options, err
}

func runAgent(ctx context.Context, args []string) error {
	options, err := readAgentOptions(args)
	if err != nil {
		return err
	}
	uid, err := uidOf(options.uid)
	if err != nil {
		return err
	}
	agent, err := newClient(options.endpoint)
	if err != nil {
		return err
	}
	if err := describe(agent, uid, options.attributes); err != nil {
		return err
	}
	settings := types.StartSettings{
		OpAMPServerURL:        options.endpoint,
		Header:                headersOf(options.headers),
		InstanceUid:           types.InstanceUid(uid),
		Callbacks:             callbacks(agent),
		PackagesStateProvider: newPackages(options.packages),
		Capabilities:          protobufs.AgentCapabilities(options.capabilities),
		HeartbeatInterval:     &options.heartbeat,
	}
	say("starting", fields{"uid": uid.String()})
	if err := agent.Start(ctx, settings); err != nil {
		return err
	}
	<-ctx.Done()
	return agent.Stop(context.Background())
}

func uidOf(text string) (uuid.UUID, error) {
	if text == "" {
		return uuid.NewV7()
	}
	return uuid.Parse(text)
}

func newClient(endpoint string) (client.OpAMPClient, error) {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	switch parsed.Scheme {
	case "ws", "wss":
		return client.NewWebSocket(complaints{}), nil
	case "http", "https":
		return client.NewHTTP(complaints{}), nil
	}
	return nil, fmt.Errorf("%q is no endpoint", endpoint)
}

func headersOf(given pairs) http.Header {
	headers := http.Header{}
	for _, pair := range given {
		name, value, _ := strings.Cut(pair, "=")
		headers.Add(name, value)
	}
	return headers
}

// describe lets the agent pass for an updater that is well: the library wants both before it starts.
func describe(agent client.OpAMPClient, uid uuid.UUID, attributes pairs) error {
	who := pairs{"service.name=myriarch-updater", "service.instance.id=" + uid.String()}
	description := &protobufs.AgentDescription{
		IdentifyingAttributes:    who.attributes(),
		NonIdentifyingAttributes: attributes.attributes(),
	}
	if err := agent.SetAgentDescription(description); err != nil {
		return err
	}
	return agent.SetHealth(&protobufs.ComponentHealth{
		Healthy:           true,
		Status:            "StatusOK",
		StartTimeUnixNano: uint64(time.Now().UnixNano()),
	})
}

func callbacks(agent client.OpAMPClient) types.Callbacks {
	return types.Callbacks{
		OnConnect: func(context.Context) { say("connected", nil) },
		OnConnectFailed: func(_ context.Context, err error) {
			say("connectFailed", fields{"text": err.Error()})
		},
		OnError: func(_ context.Context, refusal *protobufs.ServerErrorResponse) {
			sayMessage("ServerErrorResponse", refusal)
		},
		OnCommand: func(_ context.Context, command *protobufs.ServerToAgentCommand) error {
			sayMessage("Command", command)
			return nil
		},
		OnMessage: func(ctx context.Context, message *types.MessageData) { hear(ctx, agent, message) },
	}
}

// hear does at once what it is told: a configuration is applied by saying so, packages are fetched and installed.
func hear(ctx context.Context, agent client.OpAMPClient, message *types.MessageData) {
	if given := message.AgentIdentification; given != nil {
		sayMessage("AgentIdentification", given)
	}
	if config := message.RemoteConfig; config != nil {
		sayMessage("RemoteConfig", config)
		applied := &protobufs.RemoteConfigStatus{
			LastRemoteConfigHash: config.ConfigHash,
			Status:               protobufs.RemoteConfigStatuses_RemoteConfigStatuses_APPLIED,
		}
		if err := agent.SetRemoteConfigStatus(applied); err != nil {
			say("complaint", fields{"text": err.Error()})
		}
	}
	if offered := message.PackagesAvailable; offered != nil {
		sayMessage("PackagesAvailable", offered)
		if message.PackageSyncer == nil {
			return
		}
		// The installation outlives the message that brought it.
		if err := message.PackageSyncer.Sync(context.WithoutCancel(ctx)); err != nil {
			say("syncError", fields{"text": err.Error()})
		}
	}
}
