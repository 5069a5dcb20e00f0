import { map, name } from "grove:source-map";
import { createRequire } from "node:module";

/**
 * Has the stacks of errors name the lines of the sources. The runner maps those of the modules that it evaluated; the one with
 * all sources (one-module.ts) the runtime loads by itself, so the runner gets its map here.
 */
declare const __vitest_mocker__: {
  readonly moduleRunner: {
    readonly evaluatedModules: { ensureModule(id: string, url: string): { meta?: { readonly code: string } } };
  };
};

__vitest_mocker__.moduleRunner.evaluatedModules.ensureModule(name, name).meta = {
  // Read at the first stack of a file: most have none, and do not load the map.
  get code() {
    const loaded: unknown = createRequire("file:///")(`.${map}`);
    return `//# sourceMappingURL=data:application/json;base64,${btoa(JSON.stringify(loaded))}`;
  },
};
