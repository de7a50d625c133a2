// Load for an OpAMP server over WebSockets: many agents, few of them speaking at a time, so that the server is the limit.
//
// It takes one command per line on standard input and says one JSON line for each on standard output:
//
//	connect           all agents connect, describe themselves and are answered
//	beat|same|changing SECONDS
//	                  heartbeats, equal health reports, health reports with a new time; next agent each time
//	storm             waits until every connection has ended, then until each agent is back and was answered
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type load struct {
	address    string
	token      string
	inFlight   int
	agents     []*agent
	deadlineAt time.Time
}

func main() {
	address := flag.String("address", "127.0.0.1:4320", "host:port of the server")
	token := flag.String("token", "", "enrollment token")
	count := flag.Int("agents", 10_000, "how many agents")
	inFlight := flag.Int("in-flight", 200, "how many of them speak at a time")
	components := flag.Int("components", 24, "components in a health report")
	flag.Parse()
	l := &load{address: *address, token: *token, inFlight: min(*inFlight, *count)}
	for i := range *count {
		l.agents = append(l.agents, newAgent(i, *components))
	}
	say(map[string]any{"ev": "ready"})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch words[0] {
		case "connect":
			say(l.connectAll())
		case "storm":
			say(l.storm())
		case "beat", "same", "changing":
			seconds, err := strconv.ParseFloat(words[1], 64)
			if err != nil {
				log.Fatal(err)
			}
			say(l.speak(words[0], time.Duration(seconds*float64(time.Second))))
		default:
			log.Fatalf("no command %q", words[0])
		}
	}
}

func say(fields map[string]any) {
	line, err := json.Marshal(fields)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}

// each runs work for every agent, inFlight of them at a time, each agent always by the same goroutine.
func (l *load) each(work func(a *agent) bool) {
	var group sync.WaitGroup
	for first := range l.inFlight {
		group.Go(func() {
			for i := first; i < len(l.agents); i += l.inFlight {
				if !work(l.agents[i]) {
					return
				}
			}
		})
	}
	group.Wait()
}

func (l *load) connectAll() map[string]any {
	started := time.Now()
	var refused atomic.Int64
	l.each(func(a *agent) bool {
		refused.Add(int64(a.comeBack(l.address, l.token)))
		if _, err := a.converse(a.full()); err != nil {
			log.Fatalf("agent %d was not answered: %v", a.number, err)
		}
		return true
	})
	return map[string]any{"ev": "connect", "ms": time.Since(started).Milliseconds(), "refused": refused.Load()}
}

func (l *load) speak(what string, long time.Duration) map[string]any {
	started := time.Now()
	var messages, asked atomic.Int64
	for time.Since(started) < long {
		l.each(func(a *agent) bool {
			answer, err := a.converse(a.message(what))
			if err != nil {
				log.Fatalf("agent %d was not answered: %v", a.number, err)
			}
			messages.Add(1)
			if answer.wantsFullState {
				asked.Add(1)
			}
			return time.Since(started) < long
		})
	}
	return map[string]any{
		"ev": what, "ms": time.Since(started).Milliseconds(), "messages": messages.Load(), "askedForAll": asked.Load(),
	}
}

// storm is what happens when the server is killed: every agent by itself sees its connection end and comes back, with
// growing waits, and says only what is new, which is nothing.
func (l *load) storm() map[string]any {
	var group sync.WaitGroup
	var refused, asked, bytes, firstBack atomic.Int64
	for _, a := range l.agents {
		group.Go(func() {
			a.awaitEnd()
			refused.Add(int64(a.comeBack(l.address, l.token)))
			firstBack.CompareAndSwap(0, time.Now().UnixMilli())
			frame := a.message("beat")
			bytes.Add(int64(len(frame)))
			answer, err := a.converse(frame)
			if err == nil && answer.wantsFullState {
				asked.Add(1)
				frame = a.full()
				bytes.Add(int64(len(frame)))
				_, err = a.converse(frame)
			}
			if err != nil {
				log.Fatalf("agent %d was not answered: %v", a.number, err)
			}
		})
	}
	group.Wait()
	return map[string]any{
		"ev": "storm", "ms": time.Now().UnixMilli() - firstBack.Load(), "refused": refused.Load(),
		"askedForAll": asked.Load(), "bytes": bytes.Load(),
	}
}
