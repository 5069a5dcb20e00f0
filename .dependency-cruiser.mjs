/**
 * The rooms of src from the bottom up: each may import from those before it, and from itself. Types count as much as values.
 * docs/architecture.md says what each room is for.
 */
const ROOMS = [
  "base",
  "metrics",
  "crypto",
  "storage",
  "policy",
  "wire",
  "quota",
  "system",
  "identity",
  "token",
  "tree",
  "team",
  "issuer",
  "tidy",
  "auth",
  "lease",
  "api",
  "methods",
  "app",
  "rpc",
];

/** env.ts names the classes of all objects, as types of bindings. It is the one file that every room may import. */
const ENVIRONMENT = "^src/env\\.ts$";
const ENTRY = "^src/index\\.ts$";

const upward = ROOMS.map((room, at) => ({
  name: `no import upward from ${room}`,
  severity: "error",
  from: { path: `^src/${room}/` },
  to: { path: [`^src/(${ROOMS.slice(at + 1).join("|") || "nothing"})/`, ENTRY] },
}));

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    ...upward,
    {
      name: "every folder of src is a room",
      severity: "error",
      from: { path: "^src/", pathNot: [`^src/(${ROOMS.join("|")})/`, ENTRY, ENVIRONMENT] },
      to: {},
    },
    {
      name: "no circle",
      severity: "error",
      from: { path: "^src/" },
      to: { circular: true },
    },
    {
      name: "src stands alone",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^(gateway|scripts|test|examples)/" },
    },
    {
      name: "imports resolve",
      severity: "error",
      from: { path: "^src/" },
      to: { couldNotResolve: true, pathNot: "^cloudflare:" },
    },
  ],
  options: {
    // TypeScript 7 has no programming interface that the cruiser could parse with.
    parser: "swc",
    doNotFollow: { path: "node_modules" },
    exclude: { path: ENVIRONMENT },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "default"] },
  },
};
