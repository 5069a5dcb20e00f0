/**
 * The runner wraps every object, and at each call the wrapper asks the runner's own object for the Worker's module: a request that costs
 * as much as the call. Here a wrapper asks once for each module: while nothing has changed what the runner imports.
 */
declare const __vitest_mocker__: { readonly moduleRunner: { readonly import: unknown } };

type Ensure = (this: object) => Promise<unknown>;

/** @param wrappers the classes that the runtime makes objects of, by name; those of entrypoints, which are made anew for a call, stay. */
export function objectsAskOnce(wrappers: Readonly<Record<string, { readonly prototype: object }>>): void {
  const asking = Object.values(wrappers).flatMap(({ prototype }) => {
    const symbol = Object.getOwnPropertySymbols(prototype).find(({ description }) => description === "kEnsureInstance");
    return symbol ? [{ prototype, symbol }] : [];
  });
  if (asking.length === 0) throw new Error("the wrappers of the test runner ask in another way now");
  for (const { prototype, symbol } of asking) {
    const ensure = Reflect.get(prototype, symbol) as Ensure;
    const known = new WeakMap<object, { readonly by: unknown; readonly answer: unknown }>();
    const once: Ensure = async function () {
      const by = __vitest_mocker__.moduleRunner.import;
      const before = known.get(this);
      if (before !== undefined && before.by === by) return before.answer;
      const answer = await ensure.call(this);
      known.set(this, { by, answer });
      return answer;
    };
    Reflect.set(prototype, symbol, once);
  }
}
