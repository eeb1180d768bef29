// A Redis client of a few lines, so that the example lock runs without a library. Real adapters use
// the client library that the lock itself uses; then delete this file.

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// RespClient is one connection to one server. It is opened when a command needs it, and closed when a
// command fails: a late reply must not be taken for the reply to the next command. Nothing is sent
// twice.
type RespClient struct {
	address string
	timeout time.Duration
	conn    net.Conn
	replies *bufio.Reader
}

// NewRespClient opens no connection yet.
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
	reply, err := c.command(words)
	if err != nil {
		if c.conn != nil {
			c.conn.Close()
		}
		c.conn = nil
		return nil, err
	}
	if refused, is := reply.(Definite); is {
		return nil, refused
	}
	return reply, nil
}

func (c *RespClient) command(words []any) (any, error) {
	if c.conn == nil {
		conn, err := net.DialTimeout("tcp", c.address, c.timeout)
		if err != nil {
			return nil, err
		}
		c.conn, c.replies = conn, bufio.NewReader(conn)
	}
	c.conn.SetDeadline(time.Now().Add(c.timeout))
	text := &strings.Builder{}
	fmt.Fprintf(text, "*%d\r\n", len(words))
	for _, word := range words {
		word := fmt.Sprint(word)
		fmt.Fprintf(text, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(c.conn, text.String()); err != nil {
		return nil, err
	}
	return c.reply()
}

func (c *RespClient) reply() (any, error) {
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
