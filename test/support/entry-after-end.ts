import { afterAll } from "vitest";

/**
 * Every start of an object asks the process of the test runner where the Worker's module is. An object that starts while its
 * file ends (an alarm, news that trees tell a second later) would ask a runner that is gone, which fails the whole run. So from
 * the end of a file on it gets the module that was loaded before. Not earlier: with these questions the lines go that objects
 * log, and without them a file that logs very much never ends.
 */
declare const __vitest_mocker__: { readonly moduleRunner: { import(specifier: string): Promise<unknown> } };

const runner = __vitest_mocker__.moduleRunner;
const load = runner.import.bind(runner);
const loaded = new Map<string, unknown>();
let hasEnded = false;

runner.import = async (specifier) => {
  if (hasEnded && loaded.has(specifier)) return loaded.get(specifier);
  const module = await load(specifier);
  loaded.set(specifier, module);
  return module;
};

// The hooks of the file itself run before this one.
afterAll(() => {
  hasEnded = true;
});
