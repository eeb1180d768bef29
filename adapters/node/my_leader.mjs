// Picklock adapter for your leader election. The example takes a key on the first node with SET NX PX, counts the epochs
// next to it, renews the key by a timer, and checks whose key it is before each act.

import { randomUUID } from "node:crypto";
import { extended, lost, now, serve, tryFor } from "./picklock_adapter.mjs";
import { RespClient } from "./resp_client.mjs";

const LEAD = `
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
return redis.call('INCR', KEYS[2])`;

const IF_MINE = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return ";

class MyLeader {
  terms = new Map();

  constructor(nodes, timeoutMs) {
    this.redis = new RespClient(nodes[0], timeoutMs);
  }

  async acquire(key, ttlMs, waitMs, signal) {
    const token = randomUUID();
    const lead = () => this.redis.command("EVAL", LEAD, 2, key, `${key}:epoch`, token, ttlMs);
    const attempt = async () => {
      const fence = await lead();
      return fence && { token, fence };
    };
    const grant = await tryFor(waitMs, attempt, signal);
    if (grant) {
      const term = { key, ttlMs, epoch: grant.fence, renewedAt: grant.askedAt };
      this.terms.set(token, term);
      term.timer = setTimeout(() => this.renew(token, term), ttlMs / 3);
    }
    return grant;
  }

  // Returns the epoch if the client may act now, or null if it does not lead any more.
  async act(key, token) {
    return (await this.redis.command("GET", key)) === token ? this.terms.get(token).epoch : null;
  }

  async release(key, token) {
    const term = this.terms.get(token);
    term.resigned = true;
    clearTimeout(term.timer);
    return (await this.redis.command("EVAL", IF_MINE + "redis.call('DEL', KEYS[1])", 1, key, token)) === 1;
  }

  async renew(token, term) {
    const askedAt = now();
    const script = IF_MINE + "redis.call('PEXPIRE', KEYS[1], ARGV[2])";
    let [isMine, pause] = [false, term.ttlMs / 3];
    try {
      isMine = (await this.redis.command("EVAL", script, 1, term.key, token, term.ttlMs)) === 1;
      if (isMine && !term.resigned) {
        term.renewedAt = askedAt;
        extended(token, term.ttlMs, askedAt);
      }
    } catch {
      // The next attempt may still come in time.
      [isMine, pause] = [now() < term.renewedAt + term.ttlMs * 0.8, term.ttlMs / 20];
    }
    if (term.resigned) return;
    if (isMine) term.timer = setTimeout(() => this.renew(token, term), pause);
    else lost(token);
  }
}

const makeLock = (nodes, timeoutMs, options) => new MyLeader(nodes, timeoutMs, options);
await serve(makeLock, { name: "my-leader", version: "0.1.0", clients: true });
