import { test } from "node:test";
import { scenarios } from "picklock";

scenarios(test, new URL("broken_lock.mjs", import.meta.url), { profile: "quick", reference: "set-nx-px" });
