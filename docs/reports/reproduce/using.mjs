// npm install ioredis@5.8.2 redlock@5.0.0-beta.2; node using.mjs   (a Redis server on 127.0.0.1:6379)
import Redis from "ioredis";
import Redlock from "redlock";

const redis = new Redis({ commandTimeout: 100 });
const other = new Redis();
const redlock = new Redlock([redis]).on("error", () => {});
await other.call("DEL", "report");
const began = Date.now();
const after = () => `after ${Date.now() - began} ms`;
await redlock.using(["report"], 1000, async (signal) => {
  signal.addEventListener("abort", () => console.log(`${after()}: told that the lock is lost`));
  await other.call("CLIENT", "PAUSE", "8000", "ALL"); // From now on no command is answered.
  await new Promise((done) => setTimeout(done, 1000 - (Date.now() - began)));
  console.log(`${after()}: the lease of one second is over`);
  await new Promise((done) => setTimeout(done, 5000));
}).catch((error) => console.log(`${after()}: ${error.message}`));
process.exit();
