import fc from "fast-check";
import { inject } from "vitest";
import { PROPERTY_SETTINGS } from "./property-settings.ts";

/** Before the tests of each file: all properties draw from the seed of the run (vitest.config.ts), which a failing one prints as well. */
fc.configureGlobal({ ...PROPERTY_SETTINGS, seed: inject("seed") });
