<?php

// A minimal Redis client, so that the example lock runs without an extension. A real adapter should use the lock's own
// client library; then delete this file.

declare(strict_types=1);

namespace Picklock;

/** One connection to one server. It is opened when a command needs it, and closed when a command fails, so that a late
 * reply is not mistaken for the reply to the next command. No command is sent twice. */
final class RespClient
{
    private string $address;
    /** @var resource|null */
    private $socket = null;

    public function __construct(string $url, private int $timeoutMs)
    {
        $parts = parse_url($url);
        if (($parts['scheme'] ?? '') !== 'redis') {
            throw new Definite("$url: only redis://HOST:PORT is supported");
        }
        $this->address = "tcp://{$parts['host']}:{$parts['port']}";
    }

    /** Returns the reply: text, a number, or null. An error reply is thrown as Definite, because the server has refused
     * the command. */
    public function command(string|int ...$words): string|int|null
    {
        $request = '*' . count($words) . "\r\n";
        foreach ($words as $word) {
            $request .= '$' . strlen((string) $word) . "\r\n$word\r\n";
        }
        try {
            $this->send($request);
            return $this->reply();
        } catch (\RuntimeException $problem) {
            $this->socket = null;
            throw $problem;
        }
    }

    private function send(string $request): void
    {
        if ($this->socket === null) {
            $socket = @stream_socket_client($this->address, $code, $message, $this->timeoutMs / 1000);
            if ($socket === false) {
                throw new \RuntimeException("cannot connect to {$this->address}: $message");
            }
            stream_set_timeout($socket, intdiv($this->timeoutMs, 1000), $this->timeoutMs % 1000 * 1000);
            $this->socket = $socket;
        }
        if (@fwrite($this->socket, $request) !== strlen($request)) {
            throw new \RuntimeException('the command could not be sent');
        }
    }

    private function reply(): string|int|null
    {
        $line = fgets($this->socket);
        if ($line === false || !str_ends_with($line, "\r\n")) {
            throw new \RuntimeException('no reply in time, or the server closed the connection');
        }
        $rest = substr($line, 1, -2);
        return match ($line[0]) {
            '-' => throw new Definite($rest),
            '+' => $rest,
            ':' => (int) $rest,
            '$' => $rest === '-1' ? null : $this->text((int) $rest),
            default => throw new \RuntimeException("unexpected reply $line"),
        };
    }

    private function text(int $length): string
    {
        $text = stream_get_contents($this->socket, $length + 2);
        if ($text === false || strlen($text) !== $length + 2) {
            throw new \RuntimeException('the server closed the connection');
        }
        return substr($text, 0, -2);
    }
}
