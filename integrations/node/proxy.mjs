// The proxy between a test and its Redis server, whose faults the test adds and removes.

import { once } from "node:events";
import { request } from "node:http";
import { PicklockError, startService } from "./engine.mjs";

const DISPOSE = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

/** Starts a proxy in front of a Redis server of this machine. Its clients connect to `url`. */
export async function startProxy(upstream) {
  const { child, line } = await startService(["proxy", "--json", "--until-stdin-closes", "--upstream", upstream]);
  const { proxy: url, control } = JSON.parse(line);
  const fault = async (on, effect, fields = {}) => {
    const { id } = await call(control, "POST", "/faults", { on, effect, ...fields });
    const remove = () => call(control, "DELETE", `/faults/${id}`);
    return { id, remove, [DISPOSE]: remove };
  };
  const close = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGINT");
    await once(child, "close");
  };
  return {
    url,
    control,
    fault,
    dropRequest: (fields) => fault("request", "drop", fields),
    dropReply: (fields) => fault("reply", "drop", fields),
    delayRequest: (for_ms, fields) => fault("request", "delay", { for_ms, ...fields }),
    delayReply: (for_ms, fields) => fault("reply", "delay", { for_ms, ...fields }),
    answer: (error, fields) => fault("request", "answer", { error, ...fields }),
    faults: async () => (await call(control, "GET", "/faults")).faults,
    commands: async (afterNs = 0) => (await call(control, "GET", `/commands?after_ns=${afterNs}`)).commands,
    close,
    [DISPOSE]: close,
  };
}

async function call(control, method, path, body) {
  const sent = request(control + path, { method, agent: false });
  sent.end(body && JSON.stringify(body));
  try {
    const [reply] = await once(sent, "response");
    let text = "";
    for await (const chunk of reply.setEncoding("utf8")) text += chunk;
    const document = JSON.parse(text);
    if (reply.statusCode >= 400) throw new PicklockError(document.error);
    return document;
  } catch (problem) {
    if (problem instanceof PicklockError) throw problem;
    throw new PicklockError(`the proxy does not answer: ${problem.message}`);
  }
}
