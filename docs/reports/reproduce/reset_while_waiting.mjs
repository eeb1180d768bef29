// npm install redis@5.12.1 simple-redis-mutex@3.0.0; node reset_while_waiting.mjs   (a Redis server on 127.0.0.1:6379)
import net from "node:net";
import { createClient } from "redis";
import { lock } from "simple-redis-mutex";

// A proxy that resets the connection through which the SET of the lock goes. The channel is named `locks-releases`.
const proxy = net.createServer((client) => {
  const server = net.connect(6379, "127.0.0.1");
  client.on("data", (data) => (data.includes("simple-redis-mutex:lock-") ? client.resetAndDestroy() : server.write(data)));
  server.on("data", (data) => client.write(data));
  for (const socket of [client, server]) socket.on("error", () => {});
}).listen(0);
const redis = await createClient({ url: `redis://127.0.0.1:${proxy.address().port}` }).on("error", () => {}).connect();
try {
  await lock(redis, "report", { failAfter: 2000 });
} catch (error) {
  console.log("lock() rejected:", error.message);
}
