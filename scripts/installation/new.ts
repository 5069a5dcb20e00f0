import { randomBytes } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import project from "../../package.json" with { type: "json" };
import { err, ok, type Result } from "../../src/base/result.ts";
import { type NotRun, readWords, runCommand } from "../local/command-line.ts";
import { PROJECT } from "../local/worker-definition.ts";
import { SERVER_PACKAGE } from "../package/write-package.ts";
import { NEW_HELP } from "./new-help.ts";
import { placeArchive } from "./package-origin.ts";
import { START_FILE } from "./start-file.ts";

/** Allowed names of Workers at Cloudflare. */
const WORKER_NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** The programs of the binary that an installation starts. */
const PROGRAMS = ["serve", "deploy", "backup", "upgrade", "gateway"];

/** Packages of the release that have install scripts. */
const SCRIPTED = ["esbuild", "workerd"];

const say = (line: string): void => console.error(`new: ${line}`);

function parseArguments(argv: readonly string[]): Result<string, NotRun> {
  const words = readWords(argv, {}, 1);
  if (!words.ok) return words;
  const [directory] = words.value.positionals;
  if (directory === undefined) return err("which folder? grove new DIR");
  return ok(resolve(directory));
}

/** How the folder gets another release. */
const WAYS_OF_UPGRADE = {
  registry: "Another version in `package.json`",
  archive: "The archive of the new release in this folder, and `npm install ./ARCHIVE`",
};

/** @param archive its name in the folder; null when a registry has the release */
function readme(name: string, archive: string | null): string {
  return `# ${name}

An installation of Grove ${project.version}. Needs Node 24; on Linux
\`node_modules/.bin\` of a clone of Grove has one.

**First of all keep a copy of \`secrets.env\` in a safe place: without the seal key all tokens are lost.** Neither it nor
backups are for git; the other files are${archive === null ? "" : `, with the archive of the release, \`${archive}\``}.

## Start, on this machine

\`\`\`
npm install
npx grove serve
\`\`\`

Stop \`npm run dev\` of a clone first, which uses the same port. It listens on http://127.0.0.1:8200, the console is at http://127.0.0.1:8200/ui/, and data are in \`.grove/data\`
(\`npx grove serve --help\`: another address, another folder). *As a service* in \`docs/self-hosting.md\` of the package has a unit for
systemd.

## Start, on Cloudflare

\`\`\`
npm install wrangler@${project.devDependencies.wrangler}
npx wrangler login
npx grove deploy
\`\`\`

It prints the address: https://${name}.<you>.workers.dev, with the console at /ui/. Settings are in \`wrangler.toml\`. The secrets are
uploaded; remove \`secrets.env\` here once they are kept elsewhere.

## The first login

Without a root token: \`start.hcl\` says what the installation begins with, policies, logins and a limit. Change the repository in it
to yours, and make the first start \`npx grove serve --init start.hcl\`; on Cloudflare, after the deployment:

\`\`\`
. ./secrets.env
export VAULT_ADDR=https://${name}.<you>.workers.dev
VAULT_TOKEN=$GROVE_INIT_TOKEN npx grove init start.hcl
\`\`\`

Later \`npx grove apply start.hcl\` shows what differs from the file, and writes it.

Or with one: once, in a second terminal in this folder:

\`\`\`
. ./secrets.env
export VAULT_ADDR=http://127.0.0.1:8200
curl -X PUT -H @<(printf 'X-Vault-Token: %s' "$GROVE_INIT_TOKEN") $VAULT_ADDR/v1/sys/init
\`\`\`

The answer has the root token and is given once. Sign in to the console with it, or paste it after
\`read -rs VAULT_TOKEN && export VAULT_TOKEN\`, and ask \`npx grove doctor\`. When it is lost, \`npx grove generate-root\`
prints another one.

## Backup

\`\`\`
npx grove backup --to backups
npx grove backup --verify backups
\`\`\`

It is sealed as the data are: the seal key is not part of it. Of a server on Cloudflare, or on another machine, it is
\`npx grove backup --address $VAULT_ADDR --to backups-by-address\` (\`npx grove backup --help\`); or let it make one a day (\`wrangler.toml\`).

To restore a backup of \`backups\`, stop the server. Nothing is moved unless the newest copy is whole; the old data stay, in \`.grove/old.…\`:

\`\`\`
BACKUP=$(ls -d backups/grove-*/ | tail -1) && npx grove backup --verify "$BACKUP" &&
mv .grove/data "$(mktemp -d .grove/old.XXXXXX)" && mkdir -m 0700 .grove/data && cp -a "$BACKUP". .grove/data/ &&
npx grove serve
\`\`\`

One of \`backups-by-address\` goes into a server that was never initialized, such as one without \`.grove/data\`. It ends all earlier tokens
but root tokens and those of teams:

\`\`\`
. ./secrets.env
export VAULT_ADDR=http://127.0.0.1:8200
VAULT_TOKEN=$GROVE_INIT_TOKEN npx grove restore --from backups-by-address --issued-before now
\`\`\`

Tokens that were revoked since the backup are valid again: after \`restore\` root tokens and those of teams. So before the address is open to others, in a second terminal in this
folder, with the token of an administrator:

\`\`\`
export VAULT_ADDR=http://127.0.0.1:8200
read -rs VAULT_TOKEN && export VAULT_TOKEN    # paste the token, unseen; then the rest
\`\`\`

\`\`\`
npx grove tokens --policy root
npx grove contain --include-root --policy root
curl -X PUT -H @<(printf 'X-Vault-Token: %s' "$VAULT_TOKEN") $VAULT_ADDR/v1/sys/leases/revoke-prefix/auth
\`\`\`

The first command lists the root tokens, the second ends them but for \`VAULT_TOKEN\`, and the last one ends every other
earlier token. *Restore* in \`docs/operations.md\` of the package says what else comes back. A backup needs the seal key
of its time: after a rotation make a new one.

## Upgrade

${archive === null ? WAYS_OF_UPGRADE.registry : WAYS_OF_UPGRADE.archive}; then:

\`\`\`
npm install
npx grove upgrade --backups backups
\`\`\`

It says whether the server that runs may be upgraded. Then start \`npx grove serve\` again, or \`npx grove deploy\`.

The documents are in \`node_modules/${SERVER_PACKAGE}/docs\`.
`;
}

function settings(name: string): string {
  return `# Settings of this installation on Cloudflare's network. What belongs to the release (the code, its objects and their migrations) comes
# with the package and stands nowhere here.
name = "${name}"
workers_dev = true

# A domain of your own instead of workers.dev: uncomment, and set workers_dev to false.
# [[routes]]
# pattern = "grove.example.com"
# custom_domain = true

# Needs the paid plan.
# [limits]
# cpu_ms = 10_000

[vars]
# eu, us, fedramp or fedramp-high; empty: anywhere. To be set before the first start and never changed.
JURISDICTION = ""
# Hours from the begin of a backup into the bucket to the next, and how many stay there.
# BACKUP_INTERVAL_HOURS = "24"
# BACKUP_KEEP = "14"

# A backup a day into an R2 bucket: npx wrangler r2 bucket create grove-backups, then uncomment.
# [[r2_buckets]]
# binding = "BACKUPS"
# bucket_name = "grove-backups"
`;
}

/**
 * Puts the archive of this release into a folder. The error is for the operator.
 *
 * @param isNew whether the folder was just made: then it is removed after a failure.
 */
function archiveIn(directory: string, isNew: boolean): Result<string | null, string> {
  try {
    return ok(placeArchive(PROJECT, directory));
  } catch (error) {
    if (isNew) rmSync(directory, { recursive: true });
    else for (const file of readdirSync(directory)) rmSync(join(directory, file), { recursive: true });
    return err(
      `the archive of the release can't be put there: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function make(directory: string): number {
  if (existsSync(directory) && (!statSync(directory).isDirectory() || readdirSync(directory).length > 0)) {
    say(`${directory} is no empty folder; nothing was changed`);
    return 1;
  }
  const name = basename(directory);
  if (!WORKER_NAME.test(name)) {
    say(`${name} can't be the name of a Worker: lower case letters, digits and dashes`);
    return 1;
  }
  const isNew = !existsSync(directory);
  mkdirSync(directory, { recursive: true });
  const placed = archiveIn(directory, isNew);
  if (!placed.ok) {
    say(placed.error);
    return 1;
  }
  const write = (file: string, text: string, mode = 0o644) => writeFileSync(join(directory, file), text, { mode });
  const manifest = {
    name,
    private: true,
    // The commands of the documents (`npm run -s backup -- …`) work here as they do in a clone.
    scripts: { ...Object.fromEntries(PROGRAMS.map((name) => [name, `grove ${name}`])), grove: "grove" },
    dependencies: { [SERVER_PACKAGE]: placed.value === null ? project.version : `file:${placed.value}` },
    // Wrangler, which a deployment needs, pins an older workerd: it takes that of the release, so that one copy is
    // installed. Without a number here, an upgrade needs no change of it.
    overrides: { wrangler: { workerd: ">=1" } },
    // The release needs no install scripts. Without this setting npm would ask about them.
    allowScripts: Object.fromEntries(SCRIPTED.map((name) => [name, false])),
  };
  write("package.json", `${JSON.stringify(manifest, null, 2)}\n`);
  write("wrangler.toml", settings(name));
  write("README.md", readme(name, placed.value));
  copyFileSync(join(PROJECT, START_FILE), join(directory, "start.hcl"));
  const secrets = [
    "# Keep a copy in a safe place: without the seal key all tokens are lost.",
    `GROVE_SEAL_KEY=1:${randomBytes(32).toString("base64")}`,
    "# What the first request to sys/init has to send as its token.",
    `GROVE_INIT_TOKEN=${randomBytes(24).toString("hex")}`,
  ];
  write("secrets.env", `${secrets.join("\n")}\n`, 0o600);
  write(".gitignore", "node_modules/\n.wrangler/\n.grove/\nbackups/\nbackups-by-address/\nsecrets.env\n");
  say(`${directory} is made; its README.md says what comes next: npm install there, then npx grove serve`);
  return 0;
}

process.exitCode = await runCommand(parseArguments(process.argv.slice(2)), NEW_HELP, say, async (directory) =>
  make(directory),
);
