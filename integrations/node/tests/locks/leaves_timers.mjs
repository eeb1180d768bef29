import { spawn } from "node:child_process";

/** Leaves a timer that keeps its process alive, and a process. It grants nothing. */
export default class LeavesTimers {
  constructor() {
    setInterval(() => {}, 1_000);
    spawn("sleep", ["599"], { stdio: "ignore" });
  }
  async tryAcquire() {
    return null;
  }
  async release() {}
}
