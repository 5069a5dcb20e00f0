import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildSync } from "esbuild";
import project from "../../package.json" with { type: "json" };
import { err, ok, type Result } from "../../src/base/result.ts";
import { PROJECT } from "../local/worker-definition.ts";
import { MODULE, placeWorker } from "../serve/built-worker.ts";
import { copyDocs } from "./docs.ts";
import { packPackage, SERVER_PACKAGE } from "./write-package.ts";

/** The programs of the binary, by the name of their bundle. `bin/grove.js` imports them. */
const PROGRAMS = {
  serve: "scripts/serve.ts",
  gateway: "scripts/gateway.ts",
  backup: "scripts/backup.ts",
  upgrade: "scripts/upgrade.ts",
  deploy: "scripts/installation/deploy.ts",
  new: "scripts/installation/new.ts",
  command: "scripts/grove.ts",
};

const README = `# ${SERVER_PACKAGE}

Grove, a token authority that speaks the HTTP API of Vault and OpenBao: on Cloudflare's network, or on a machine of your own.

\`\`\`
npx --yes --package ./ARCHIVE grove new my-grove && cd my-grove && npm install    # of this package: grove-tokens-grove-….tgz
npx grove serve                  # on this machine
npx grove deploy                 # on Cloudflare's network, once Wrangler is installed
npx grove --help
\`\`\`

\`new\` makes a small folder: settings in wrangler.toml, secrets in secrets.env (not for git), and this release as a
dependency, with its archive. Once the package is published, \`npx ${SERVER_PACKAGE} new my-grove\` does without the archive.
Another release is another archive, or version in package.json; nothing else in the folder changes.
`;

/**
 * Packs the server: its programs as plain JavaScript (Node reads no TypeScript below node_modules) and the built Worker. Bundles keep
 * their depth in the project, because programs find the package's files from there.
 *
 * @param directory becomes the content of the package
 * @returns the tarball's name; the error is for the operator
 */
export async function packServer(directory: string, to: string): Promise<Result<string, string>> {
  const module = join(directory, "dist/worker", MODULE);
  const definition = await placeWorker(dirname(module));
  if (!definition.ok) return err(definition.error);
  // Without the list of inputs, as a package has no sources.
  const text = readFileSync(module, "utf8");
  writeFileSync(module, `// ${JSON.stringify({ definition: definition.value })}${text.slice(text.indexOf("\n"))}`);
  for (const [name, source] of Object.entries(PROGRAMS)) bundle(source, join(directory, "dist/bundled", `${name}.js`));
  copyDocs(directory);
  cpSync(join(PROJECT, "scripts/package/grove.js"), join(directory, "bin/grove.js"));
  // A deployment merges the installation's own wrangler.toml into this one.
  writeFileSync(join(directory, "dist/wrangler.json"), JSON.stringify(definition.value, null, 2));
  const manifest = {
    name: SERVER_PACKAGE,
    description: project.description,
    engines: { node: ">=24" },
    bin: { grove: "bin/grove.js" },
    dependencies: { workerd: project.overrides.workerd },
    // Only a deployment needs Wrangler, which would be a third of the installed size.
    peerDependencies: { wrangler: project.devDependencies.wrangler },
    peerDependenciesMeta: { wrangler: { optional: true } },
  };
  return ok(packPackage(directory, manifest, README, to));
}

function bundle(source: string, target: string): void {
  buildSync({
    absWorkingDir: PROJECT,
    entryPoints: [source],
    outfile: target,
    bundle: true,
    external: ["wrangler", "workerd"],
    platform: "node",
    format: "esm",
    target: "es2024",
    legalComments: "inline",
    logLevel: "error",
    // Some of the bundled packages are CommonJS and call require.
    banner: {
      js: 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);',
    },
  });
}
