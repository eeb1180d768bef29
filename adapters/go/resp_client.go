// A minimal Redis client, so that the example lock runs without a library. A real adapter should use the lock's own
// client library; then delete this file.

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// RespClient is a pool of connections to one server, for any number of goroutines. A connection is opened when a
// command needs it, and closed when a command fails, so that a late reply is not mistaken for the reply to the next
// command. No command is sent twice.
type RespClient struct {
	address string
	timeout time.Duration
	mutex   sync.Mutex
	idle    []*connection
}

type connection struct {
	net.Conn
	replies *bufio.Reader
}

// NewRespClient creates a client without opening a connection.
func NewRespClient(node string, timeout time.Duration) (*RespClient, error) {
	parts, err := url.Parse(node)
	if err != nil || parts.Scheme != "redis" {
		return nil, Definite{node + ": only redis://HOST:PORT is supported"}
	}
	return &RespClient{address: parts.Host, timeout: timeout}, nil
}

// Command returns the reply: a string, an int64, or nil. An error reply is Definite: the server has
// refused the command.
func (c *RespClient) Command(words ...any) (any, error) {
	conn, err := c.take()
	if err != nil {
		return nil, err
	}
	reply, err := conn.command(words, c.timeout)
	if err != nil {
		conn.Close()
		return nil, err
	}
	c.mutex.Lock()
	c.idle = append(c.idle, conn)
	c.mutex.Unlock()
	if refused, is := reply.(Definite); is {
		return nil, refused
	}
	return reply, nil
}

// take returns an idle connection, or a new one.
func (c *RespClient) take() (*connection, error) {
	if conn := c.takeIdle(); conn != nil {
		return conn, nil
	}
	conn, err := net.DialTimeout("tcp", c.address, c.timeout)
	if err != nil {
		return nil, err
	}
	return &connection{conn, bufio.NewReader(conn)}, nil
}

func (c *RespClient) takeIdle() *connection {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	last := len(c.idle) - 1
	if last < 0 {
		return nil
	}
	conn := c.idle[last]
	c.idle = c.idle[:last]
	return conn
}

func (c *connection) command(words []any, timeout time.Duration) (any, error) {
	c.SetDeadline(time.Now().Add(timeout))
	text := &strings.Builder{}
	fmt.Fprintf(text, "*%d\r\n", len(words))
	for _, word := range words {
		word := fmt.Sprint(word)
		fmt.Fprintf(text, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(c, text.String()); err != nil {
		return nil, err
	}
	return c.reply()
}

func (c *connection) reply() (any, error) {
	line, err := c.replies.ReadString('\n')
	if err != nil {
		return nil, err
	}
	rest := strings.TrimSuffix(line[1:], "\r\n")
	switch line[0] {
	case '+':
		return rest, nil
	case '-':
		return Definite{rest}, nil
	case ':':
		return strconv.ParseInt(rest, 10, 64)
	case '$':
		length, err := strconv.Atoi(rest)
		if err != nil || length < 0 {
			return nil, err
		}
		text := make([]byte, length+2)
		if _, err := io.ReadFull(c.replies, text); err != nil {
			return nil, err
		}
		return string(text[:length]), nil
	}
	return nil, fmt.Errorf("unexpected reply %q", line)
}
