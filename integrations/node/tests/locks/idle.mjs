// Grants without a command.
export default class Idle {
  tryAcquire() {
    return "always";
  }
  release() {
    return true;
  }
}
