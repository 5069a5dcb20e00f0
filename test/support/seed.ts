import fc from "fast-check";
import { inject } from "vitest";

// Before the tests of each file: all properties draw from the seed of the run (vitest.config.ts), which a failing one prints as well.
fc.configureGlobal({ seed: inject("seed") });
