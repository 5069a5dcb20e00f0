import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import project from "../../package.json" with { type: "json" };
import { PROJECT } from "../local/worker-definition.ts";
import { CLIENT_PACKAGE, packPackage } from "./write-package.ts";

const README = `# ${CLIENT_PACKAGE}

Asks Grove, a token authority, about the token of a request: over the service binding of a Worker, without a shared secret.

\`\`\`ts
import { protect } from "${CLIENT_PACKAGE}/hono";

app.use("/reports/*", protect((env) => env.GROVE));
\`\`\`

Without Hono: \`authorize\` of \`${CLIENT_PACKAGE}\`. The types of the entrypoints are in \`${CLIENT_PACKAGE}/types\`.
`;

/** Packs the client: three modules with their types, without dependencies. Returns the tarball's name. */
export function packClient(directory: string, to: string): string {
  const compiler = join(createRequire(import.meta.url).resolve("typescript/package.json"), "../bin/tsc");
  execFileSync(process.execPath, [compiler, "--project", join(PROJECT, "client"), "--outDir", directory], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const module = (name: string) => ({ types: `./${name}.d.ts`, default: `./${name}.js` });
  const manifest = {
    name: CLIENT_PACKAGE,
    description: "Asks Grove about the token of a request, from a Worker",
    exports: { ".": module("index"), "./hono": module("hono"), "./types": module("types") },
    peerDependencies: { hono: `^${project.dependencies.hono}` },
    peerDependenciesMeta: { hono: { optional: true } },
  };
  return packPackage(directory, manifest, README, to);
}
