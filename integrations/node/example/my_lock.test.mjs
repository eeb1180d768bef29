import { test } from "node:test";
import { scenarios } from "picklock";

scenarios(test, new URL("my_lock.mjs", import.meta.url), { profile: "quick", reference: "set-nx-px" });
