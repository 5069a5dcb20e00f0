/**
 * No test waits for copies of other isolates to become too old: of these it has none, unless it makes one. A test that
 * is about such a wait spies on `scheduler.wait`.
 */
const LONGEST_MS = 10;

const wait = scheduler.wait.bind(scheduler);
scheduler.wait = (ms, options) => wait(Math.min(ms, LONGEST_MS), options);
