import fc from "fast-check";
import { inject } from "vitest";

/**
 * Before the tests of each file: all properties draw from the seed of the run (vitest.config.ts), which a failing one
 * prints as well. A history or a text becomes as long as its property allows: the default of fast-check is about five
 * items, whatever `maxLength` says.
 */
fc.configureGlobal({ seed: inject("seed"), defaultSizeToMaxWhenMaxSpecified: true });
