import { pathOf } from "../href.ts";

const encoded = (mount: string): string => pathOf(...mount.split("/").filter((part) => part !== ""));

/** The endpoint of something below an auth mount. */
export const belowMount = (mount: string, path: string, name?: string): string =>
  `auth/${encoded(mount)}/${path}${name === undefined ? "" : `/${pathOf(name)}`}`;

/** The endpoint of a mount itself, or of its tuning. */
export const ofMount = (mount: string, what: "" | "tune" = ""): string =>
  `sys/auth/${encoded(mount)}${what === "" ? "" : "/tune"}`;

/** The path of a mount below `auth/`, as pages name it. */
export const mountName = (mount: string): string => mount.replace(/^auth\/|\/$/g, "");
