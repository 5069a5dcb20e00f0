/**
 * Every start of an object asks the process of the test runner where the Worker's module is. The answer never changes
 * while a file runs. Asked once, thousands of starts are cheaper, and an object that starts while its file ends (an
 * alarm, news that trees tell a second later) does not ask a runner that is gone, which would fail the whole run.
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
