/**
 * Every start of an object asks the process of the test runner where the Worker's module is: half of the time of a test with
 * many objects, and an object that starts while its file ends (an alarm, updates that trees publish a second later) would ask a
 * runner that is gone, which fails the whole run. So the runner is asked once for each file.
 */
declare const __vitest_mocker__: { readonly moduleRunner: { import(specifier: string): Promise<unknown> } };

const runner = __vitest_mocker__.moduleRunner;
const load = runner.import.bind(runner);
const loaded = new Map<string, Promise<unknown>>();

runner.import = (specifier) => {
  const module = loaded.get(specifier) ?? load(specifier);
  loaded.set(specifier, module);
  return module;
};
