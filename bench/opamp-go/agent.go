package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"
)

// capabilities of a supervisor that takes a configuration and reports health and heartbeats.
const capabilities = 0x3c07

type agent struct {
	number     int
	uid        []byte
	components int
	sequence   uint64
	startedAt  uint64
	connection net.Conn
	rest       []byte
}

type answer struct{ wantsFullState bool }

func newAgent(number, components int) *agent {
	uid := []byte{0x01, 0x93, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(uid[12:], uint32(number)+1)
	return &agent{number: number, uid: uid, components: components, startedAt: uint64(time.Now().UnixNano())}
}

// comeBack connects, however often it takes: at once, then half a second and half as long again each time, at most a minute,
// never before the server said. It returns how often the server said so.
func (a *agent) comeBack(address, token string) (refused int) {
	for wait := 500 * time.Millisecond; ; wait = min(wait*3/2, time.Minute) {
		retryAfter, err := a.connect(address, token)
		if err == nil {
			return refused
		}
		if retryAfter > 0 {
			refused++
		}
		time.Sleep(max(retryAfter, time.Duration((0.5+rand.Float64())*float64(wait))))
	}
}

func (a *agent) connect(address, token string) (retryAfter time.Duration, err error) {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Fprintf(connection, "GET /v1/opamp HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer %s\r\n\r\n",
		address, token)
	if err != nil {
		connection.Close()
		return 0, err
	}
	reader := bufio.NewReaderSize(connection, 1024)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		connection.Close()
		return 0, err
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		connection.Close()
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return time.Duration(seconds) * time.Second, errors.New(response.Status)
	}
	early, err := reader.Peek(reader.Buffered())
	a.rest = append(a.rest[:0], early...)
	a.connection = connection
	return 0, err
}

// converse sends one message and reads the next one of the server.
func (a *agent) converse(message []byte) (answer, error) {
	if _, err := a.connection.Write(frame(message)); err != nil {
		return answer{}, err
	}
	for {
		operation, payload, err := a.read()
		if err != nil {
			return answer{}, err
		}
		switch operation {
		case 2:
			return answer{wantsFullState: flagsOf(payload)&1 != 0}, nil
		case 8:
			return answer{}, errors.New("closed by the server")
		}
	}
}

func (a *agent) awaitEnd() {
	for {
		if _, _, err := a.read(); err != nil {
			a.connection.Close()
			a.rest = a.rest[:0]
			return
		}
	}
}

// read returns the next frame. Frames of a server are not masked; ours are small, and never in fragments.
func (a *agent) read() (operation byte, payload []byte, err error) {
	buffer := a.rest
	for {
		if len(buffer) >= 2 {
			head, length := 2, int(buffer[1]&0x7f)
			if length == 126 && len(buffer) >= 4 {
				head, length = 4, int(binary.BigEndian.Uint16(buffer[2:]))
			}
			if length == 127 {
				return 0, nil, errors.New("a frame larger than expected")
			}
			if length != 126 && len(buffer) >= head+length {
				whole := buffer[:head+length]
				a.rest = append([]byte(nil), buffer[head+length:]...)
				return whole[0] & 0x0f, whole[head:], nil
			}
		}
		var chunk [2048]byte
		count, err := a.connection.Read(chunk[:])
		if count == 0 {
			return 0, nil, errors.Join(err, io.ErrUnexpectedEOF)
		}
		buffer = append(buffer, chunk[:count]...)
	}
}

// frame is one binary frame, masked as clients must: the server has the work of a real one.
func frame(message []byte) []byte {
	head := []byte{0x82}
	if len(message) < 126 {
		head = append(head, 0x80|byte(len(message)))
	} else {
		head = append(head, 0x80|126, byte(len(message)>>8), byte(len(message)))
	}
	var mask [4]byte
	binary.LittleEndian.PutUint32(mask[:], rand.Uint32())
	whole := append(append(head, mask[:]...), message...)
	for i, masked := 0, whole[len(head)+4:]; i < len(masked); i++ {
		masked[i] ^= mask[i&3]
	}
	return whole
}
