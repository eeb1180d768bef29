import { test } from "node:test";
import { scenarios } from "picklock";

for (const lock of ["broken_lock.mjs", "my_lock.mjs"]) {
  scenarios(test, new URL(lock, import.meta.url), { profile: "quick", reference: "set-nx-px" });
}
