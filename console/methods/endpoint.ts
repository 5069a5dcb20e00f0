import { pathOf } from "../api-path.ts";
import { href } from "../href.ts";
import type { Scope } from "../records/scope.ts";

const encoded = (path: string): string => pathOf(...path.replace(/\/$/, "").split("/"));

/** The endpoint of something below an auth mount. */
export const belowMount = (mount: string, path: string, name?: string): string =>
  `auth/${encoded(mount)}/${path}${name === undefined ? "" : `/${pathOf(name)}`}`;

/** The endpoint of a mount itself, or of its tuning. */
export const ofMount = (mount: string, what: "" | "tune" = ""): string =>
  `sys/auth/${encoded(mount)}${what === "" ? "" : "/tune"}`;

export const scopeOfMount = (mount: string): Scope => ({
  name: mount,
  mount,
  endpoint: (path, name) => belowMount(mount, path, name),
  page: (query) => href(["methods", mount], query),
});
