// A minimal Redis client, so that the example lock runs without a library. A real adapter should use the lock's own
// client library; then delete this file.

import { connect } from "node:net";
import { Definite } from "./picklock_adapter.mjs";

/** One connection to one server, on which commands are pipelined. It is opened when a command needs it, and closed when
 * a command fails, so that a late reply is not mistaken for the reply to the next command. No command is sent twice. */
export class RespClient {
  constructor(url, timeoutMs) {
    const { protocol, hostname, port } = new URL(url);
    if (protocol !== "redis:") throw new Definite(`${url}: only redis://HOST:PORT is supported`);
    this.address = { host: hostname, port: Number(port), noDelay: true };
    this.timeoutMs = timeoutMs;
    this.socket = null;
    this.waiting = [];
  }

  /** Returns the reply: text, a number, or null. An error reply is thrown as Definite, because the server has refused
   * the command. */
  command(...words) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.close(new Error("no answer in time")), this.timeoutMs);
      if (this.socket === null) this.open();
      this.waiting.push((outcome) => {
        clearTimeout(timer);
        outcome instanceof Error ? reject(outcome) : resolve(outcome);
      });
      const bulk = (word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`;
      this.socket.write(`*${words.length}\r\n${words.map(bulk).join("")}`);
    });
  }

  close(problem) {
    this.socket?.destroy();
    this.socket = null;
    for (const settle of this.waiting.splice(0)) settle(problem);
  }

  open() {
    const socket = connect(this.address);
    let received = Buffer.alloc(0);
    // Events of an earlier connection do not affect the commands of this one.
    const closed = (problem) => socket === this.socket && this.close(problem);
    socket.on("error", closed);
    socket.on("end", () => closed(new Error("the server closed the connection")));
    socket.on("data", (bytes) => {
      if (socket !== this.socket) return;
      received = Buffer.concat([received, bytes]);
      for (let parsed; (parsed = parse(received)); ) {
        received = received.subarray(parsed.length);
        this.waiting.shift()?.(parsed.reply);
      }
    });
    this.socket = socket;
  }
}

/** Returns the first reply in the bytes, and its length; undefined while it is incomplete. */
function parse(bytes) {
  const end = bytes.indexOf("\r\n");
  if (end < 0) return undefined;
  const text = bytes.toString("utf8", 1, end);
  const line = (reply) => ({ reply, length: end + 2 });
  switch (String.fromCharCode(bytes[0])) {
    case "+":
      return line(text);
    case "-":
      return line(new Definite(text));
    case ":":
      return line(Number(text));
    case "$": {
      const [from, size] = [end + 2, Number(text)];
      if (size < 0) return line(null);
      const whole = { reply: bytes.toString("utf8", from, from + size), length: from + size + 2 };
      return bytes.length < whole.length ? undefined : whole;
    }
    default:
      return line(new Error(`unexpected reply ${bytes.toString()}`));
  }
}
