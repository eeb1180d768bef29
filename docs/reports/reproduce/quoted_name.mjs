// npm install redis@5.12.1 simple-redis-mutex@3.0.0; node quoted_name.mjs   (a Redis server on 127.0.0.1:6379)
import { createClient } from "redis";
import { lock } from "simple-redis-mutex";

const redis = await createClient().connect();
const release = await lock(redis, 'order "17"', { failAfter: 5000 });
await release();
await new Promise((resolve) => setTimeout(resolve, 500));
console.log("still running");
process.exit(0);
