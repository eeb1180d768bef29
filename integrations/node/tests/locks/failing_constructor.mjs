export default class FailingConstructor {
  constructor() {
    throw new RangeError("no such setting");
  }
}
