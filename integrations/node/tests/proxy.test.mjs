// Tests of the proxy for any test. They need a Redis server.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import Redis from "ioredis";
import { PicklockError, startProxy } from "picklock";

let server, direct, proxy;

// Milliseconds after which a command counts as unanswered.
const REPLY_LIMIT_MS = 300;

const client = (context) => {
  const redis = new Redis(proxy.url, { maxRetriesPerRequest: 0 });
  redis.on("error", () => {});
  context.after(() => redis.disconnect());
  return redis;
};

const answerTo = (command, limit = REPLY_LIMIT_MS) =>
  Promise.race([command.catch((error) => error), sleep(limit, new Error("no reply"))]);

before(async () => {
  const listener = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => listener.on("listening", resolve));
  const { port } = listener.address();
  await new Promise((resolve) => listener.close(resolve));
  const folder = mkdtempSync(join(tmpdir(), "picklock-node-"));
  server = spawn("redis-server", ["--port", port, "--save", "", "--dir", folder], { stdio: "ignore" });
  direct = new Redis(port, "127.0.0.1", { maxRetriesPerRequest: null });
  direct.on("error", () => {});
  await direct.ping();
  proxy = await startProxy(`redis://127.0.0.1:${port}`);
});

after(async () => {
  await proxy.close();
  direct.disconnect();
  server.kill();
});

const triggers = {
  any: {},
  command: { command: "set" },
  key: { key: "stock" },
  both: { command: "SET", key: "stock" },
  nth: { command: "SET", nth: 2 },
};
const effects = {
  delay: { for_ms: 150 },
  drop: {},
  hold: {},
  cut: {},
  answer: { error: "READONLY" },
};

for (const on of ["request", "reply"]) {
  for (const [effect, fields] of Object.entries(effects)) {
    for (const [trigger, matched] of Object.entries(triggers)) {
      test(`${effect} on a ${on} by ${trigger}`, async (context) => {
        await direct.del("stock");
        const redis = client(context);
        await redis.ping();
        const fault = await proxy.fault(on, effect, { ...fields, ...matched });
        context.after(() => fault.remove().catch(() => {}));
        if (trigger === "nth") await redis.set("other", 1);
        const began = performance.now();
        const answer = await answerTo(redis.set("stock", 7), effect === "delay" ? 5000 : REPLY_LIMIT_MS);
        const spent = performance.now() - began;
        const value = await direct.get("stock");
        if (effect === "delay") {
          assert.equal(answer, "OK");
          assert.ok(spent >= 149, String(spent));
          assert.equal(value, "7");
        } else {
          assert.ok(answer instanceof Error, String(answer));
          assert.equal(value, on === "request" ? null : "7");
        }
        if (effect === "answer") assert.match(answer.message, /^READONLY/);
        const [{ fired }] = await proxy.faults();
        assert.equal(fired, 1);
        await fault.remove();
        for (let round = 0; effect === "hold" && (await direct.get("stock")) !== "7"; round += 1) {
          assert.ok(round < 500, "the held command does not arrive");
          await sleep(10);
        }
      });
    }
  }
}

test("command log has the outcome", async (context) => {
  const redis = client(context);
  const fault = await proxy.dropReply({ command: "INCR" });
  assert.match(String(await answerTo(redis.incr("count"))), /no reply/);
  await fault.remove();
  const entries = (await proxy.commands()).filter(({ command }) => command === "INCR");
  assert.deepEqual(entries.map(({ direction, outcome }) => `${direction} ${outcome}`), ["request forwarded", "reply dropped"]);
});

test("wrong fault and wrong upstream are explained", async () => {
  await assert.rejects(proxy.fault("reply", "delay"), { name: "PicklockError", message: /`for_ms` belongs to the effect/ });
  await assert.rejects(startProxy("redis://192.0.2.1:6379"), /server on this machine/);
});

test("proxy ends with the process that started it", async () => {
  const line = 'import("picklock").then(async ({ startProxy }) => { console.log((await startProxy("redis://127.0.0.1:1")).control); process.kill(process.pid, "SIGKILL"); })';
  const control = spawnSync(process.execPath, ["--eval", line], { encoding: "utf8", cwd: import.meta.dirname }).stdout.trim();
  assert.match(control, /^http:/);
  for (let round = 0; await fetch(`${control}/faults`).then(() => true, () => false); round += 1) {
    assert.ok(round < 500, "the proxy still answers");
    await sleep(10);
  }
});

test("closed proxy does not answer", async () => {
  const other = await startProxy("redis://127.0.0.1:1");
  await other.close();
  await assert.rejects(other.faults(), PicklockError);
});
