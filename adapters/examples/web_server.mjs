// A web server that Picklock tests. Its handler takes a lock. The adapter acts as the browser, in the same process.
//
// The shop is a server of Node's `http` module. It does not listen on a port: the requests and responses are real HTTP
// messages, but each request travels over a pair of streams, so the process has only connections to Redis. All clients
// share one event loop and one connection. Between the acquisition and the release, the handler waits in `section` for
// Picklock's work.
//
//   picklock scenario crowd --impl "exec:node adapters/examples/web_server.mjs"

import { createServer, request as httpRequest } from "node:http";
import { randomUUID } from "node:crypto";
import { Duplex } from "node:stream";
import { Definite, serve, tryFor } from "../node/picklock_adapter.mjs";
import { RespClient } from "../node/resp_client.mjs";

const DELETE_IF_MINE = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return redis.call('DEL', KEYS[1])";

/** The shop: POST /checkout takes the lock of an item. Status 409: another request has it; 410: it was lost. */
function shop(redis, section) {
  return createServer(async (request, response) => {
    const { key, ttl, wait } = Object.fromEntries(new URL(request.url, "http://shop").searchParams);
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const token = randomUUID();
    const answer = (status) => response.writeHead(status, { connection: "close" }).end();
    try {
      const setNxPx = async () => (await redis.command("SET", key, token, "NX", "PX", ttl)) && { token };
      const grant = await tryFor(Number(wait), setNxPx, gone.signal);
      if (!grant) return answer(409);
      let isMine;
      try {
        // A request whose browser has disconnected must not enter the section.
        if (!gone.signal.aborted) await section(request.headers["x-visit"], grant);
      } finally {
        isMine = await redis.command("EVAL", DELETE_IF_MINE, 1, key, token);
      }
      answer(isMine ? 200 : 410);
    } catch (problem) {
      console.error(problem);
      answer(500);
    }
  });
}

/** The lock that Picklock calls: each acquisition is a request, and each release lets its handler continue. */
class Browser {
  constructor(nodes, timeoutMs) {
    this.visits = new Map();
    this.inside = new Map();
    this.shop = shop(new RespClient(nodes[0], timeoutMs), (visit, grant) => this.section(visit, grant));
  }

  acquire(key, ttlMs, waitMs, signal) {
    const visit = randomUUID();
    const path = `/checkout?${new URLSearchParams({ key, ttl: ttlMs, wait: waitMs })}`;
    return new Promise((resolve, reject) => {
      const { promise, socket } = post(this.shop, path, visit);
      this.visits.set(visit, (grant, leave) => {
        this.inside.set(grant.token, { leave, response: promise });
        resolve(grant);
      });
      const ended = (status) => (status === 409 ? resolve(null) : reject(new Error(`status ${status}`)));
      promise.then(ended, reject).finally(() => this.visits.delete(visit));
      // The browser disconnects.
      signal.addEventListener("abort", () => {
        socket.destroy();
        resolve(null);
      });
    });
  }

  async release(key, token) {
    const inside = this.visit(token);
    inside.leave();
    return (await inside.response) === 200;
  }

  async sectionFailed(key, token) {
    const inside = this.visit(token);
    inside.leave(Promise.reject(new Error("the section failed")));
    await inside.response;
    // The response does not show whether the `finally` of the handler released the lock.
    return null;
  }

  visit(token) {
    const inside = this.inside.get(token);
    if (!inside) throw new Definite(`no request is inside with the token ${token}`);
    this.inside.delete(token);
    return inside;
  }

  section(visit, grant) {
    return new Promise((leave) => this.visits.get(visit)(grant, leave));
  }
}

/** Sends a request over a pair of streams. Returns a promise of the response's status, and the browser's stream. */
function post(server, path, visit) {
  const [ours, theirs] = pair();
  server.emit("connection", theirs);
  const headers = { "x-visit": visit };
  const sent = httpRequest({ method: "POST", path, headers, createConnection: () => ours });
  const promise = new Promise((resolve, reject) => {
    sent.on("response", (response) => resolve(response.resume().statusCode));
    sent.on("error", reject);
  });
  sent.end();
  return { promise, socket: ours };
}

/** Returns the two ends of a connection within this process. */
function pair() {
  const ends = [];
  for (const other of [1, 0]) {
    const end = new Duplex({
      read() {},
      write: (bytes, _, done) => (ends[other].push(bytes), done()),
      final: (done) => (ends[other].push(null), done()),
      destroy: (problem, done) => {
        done(problem);
        if (!ends[other].destroyed) setImmediate(() => ends[other].destroy());
      },
    });
    ends.push(end);
  }
  return ends;
}

await serve((nodes, timeoutMs) => new Browser(nodes, timeoutMs), { name: "web-server-node", clients: true });
