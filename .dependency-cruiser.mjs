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
  "listing",
  "lease",
  "tree",
  "team",
  "issuer",
  "audit",
  "backup",
  "tidy",
  "auth",
  "api",
  "methods",
  "app",
  "rpc",
];

/** The layers of the AWS method, in the same order. What stands beside them in its folder is for all of them, or puts them together. */
const AWS_LAYERS = ["documents", "sts", "answers", "clients", "rules", "mount", "login", "routes"];

/**
 * An env.ts names the classes of objects as types of bindings, also of objects in rooms above. Such a file of a room has the bindings
 * that the room uses, and src/env.ts puts them together.
 */
const ENVIRONMENT = "^src/[a-z/]*env\\.ts$";
const ENTRY = "^src/index\\.ts$";

/** The folders of a kind of mount, an auth method, and of each kind of credential: teams with their interface. */
const METHOD = "^src/methods/[^/]+/";
const CREDENTIALS = ["^src/(team|api/team|api/json-api)/"];
/** The registry names every kind. The runtime finds the classes of objects of kinds among the exports of the entry. */
const REGISTRY = "^src/app/registry\\.ts$";

/** The core does not know its kinds, and they do not know each other. Their env.ts is exempt, as every other one is. */
const ofKinds = [
  { name: "only the registry knows auth methods", from: { pathNot: [METHOD, REGISTRY, ENTRY] }, to: { path: METHOD } },
  {
    name: "no auth method knows another",
    from: { path: "^src/methods/([^/]+)/" },
    to: { path: METHOD, pathNot: "^src/methods/$1/" },
  },
  ...CREDENTIALS.map((path) => ({
    name: `only the registry knows ${path}`,
    from: { pathNot: [path, REGISTRY, ENTRY] },
    to: { path },
  })),
].map((rule) => ({ severity: "error", ...rule }));

/** The rules that none of `layers`, folders of `folder` from the bottom up, imports from one above it. */
function noneUpward(folder, layers, above = []) {
  return layers.map((layer, at) => ({
    name: `no import upward from ${layer} in ${folder}`,
    severity: "error",
    from: { path: `^${folder}/${layer}/` },
    to: { path: [`^${folder}/(${layers.slice(at + 1).join("|") || "nothing"})/`, ...above] },
  }));
}

const upward = [...noneUpward("src", ROOMS, [ENTRY]), ...noneUpward("src/methods/aws", AWS_LAYERS)];

/**
 * What the code of a folder may import from besides its own. What runs in production needs nothing that is for development: the bench and
 * the tests come last, and only the bench uses what tests have (a cloud on this machine).
 */
const ALLOWED = {
  src: ["dist/", "client/types\\.ts", "package\\.json"],
  client: ["src/"],
  gateway: ["src/"],
  console: ["client/answers\\.d\\.ts", "package\\.json"],
  scripts: ["src/", "gateway/", "client/answers\\.d\\.ts", "package\\.json"],
  bench: ["src/", "gateway/", "scripts/", "package\\.json", "test/support/", "test/unit/"],
};

/** Pages of the console are made of the parts of its folders, and those of the elements of `ui`. */
const consoleLayers = [
  { name: "no page in a part of the console", from: "^console/(?!pages/|[\\w-]+\\.tsx?$)", to: "^console/pages/" },
  { name: "no part of the console in its elements", from: "^console/ui/", to: "^console/(?!ui/)[\\w-]+/" },
].map(({ name, from, to }) => ({ name, severity: "error", from: { path: from }, to: { path: to } }));

const outward = Object.entries(ALLOWED).map(([folder, allowed]) => ({
  name: `no import outward from ${folder}`,
  severity: "error",
  from: { path: `^${folder}/` },
  to: {
    path: "^(?!node_modules/)[\\w-]+(/|\\.json$)",
    pathNot: `^(${[`${folder}/`, ...allowed].join("|")})`,
    dependencyTypesNot: ["core"],
  },
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
      from: {},
      to: { circular: true },
    },
    ...ofKinds,
    ...outward,
    ...consoleLayers,
    {
      // The bench writes the inventory of an installation in Node. Types count here too.
      name: "the inventory of a shard runs without the platform",
      severity: "error",
      from: { path: "^src/listing/inventory/shard/inventory-store\\.ts$" },
      to: { path: "^cloudflare:", reachable: true },
    },
    {
      name: "imports resolve",
      severity: "error",
      from: {},
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
