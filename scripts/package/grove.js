#!/usr/bin/env node
// The binary of the package. The first word names a program; every other word is a command for a server that runs.
import { existsSync } from "node:fs";

const OLDEST_NODE = 24;
const PROGRAMS = ["new", "serve", "deploy", "backup", "upgrade", "gateway"];
const SECRETS = "secrets.env";
/** The programs that need the secrets of the deployment. */
const READ_SECRETS = ["serve", "upgrade", "backup", "generate-root"];

const HELP = `Usage: grove COMMAND [options]

  new DIR      makes the folder of an installation
  serve        runs Grove on this machine
  deploy       deploys Grove to Cloudflare, as wrangler.toml in this folder says
  backup       saves what a server has stored, here or on the network
  upgrade      checks whether a server of this machine may be upgraded
  gateway      runs the LIST gateway alone

Of a server that runs (grove help COMMAND):

  tokens       lists or counts tokens
  tree         shows all trees of tokens, or the tree of one token
  revoke       revokes tokens with all their descendants
  contain      revokes what a text selects, and proves it
  leases       lists leases whose revocation fails
  find         says what a leaked text is, and if it can be used
  why          says why a request was refused
  explain      says why a request is allowed or refused
  audit        shows who made a token, what it did, and other events
  doctor       checks the server, and says what to do
  completion   prints a completion script for a shell
  restore      restores a backup into a new server
  init         initializes a new server from a file
  apply        changes a server to match a file
  generate-root  makes a new root token from the secrets of the server
  version      shows the release

Each has --help and --version. Secrets in ${SECRETS} of this folder are in the
environment of serve, upgrade, backup and generate-root; deploy uploads them.

Example:
  grove tokens --policy root
`;

/** Variables that are set already override the file. A user who makes backups need not be able to read it. */
function loadSecrets() {
  try {
    process.loadEnvFile(SECRETS);
  } catch (error) {
    process.stderr.write(`grove: ${SECRETS} can't be read (${error.code ?? error.message})\n`);
  }
}

const [, , first = "--help", second] = process.argv;
const isAbout = first === "help" && PROGRAMS.includes(second);
if (isAbout) process.argv.splice(2, 2, second, "--help");
const name = isAbout ? second : first;
if (Number(process.versions.node.split(".")[0]) < OLDEST_NODE) {
  process.stderr.write(
    `grove: this is Node ${process.versions.node}; Grove needs Node ${OLDEST_NODE} or newer: from https://nodejs.org, or on Linux from a clone ` +
      'of Grove after npm install there: export PATH="CLONE/node_modules/.bin:$PATH"\n',
  );
  process.exit(1);
}
if (name === "--help" || name === "-h" || (name === "help" && second === undefined)) {
  process.stdout.write(HELP);
} else {
  if (READ_SECRETS.includes(name) && existsSync(SECRETS)) loadSecrets();
  const isProgram = PROGRAMS.includes(name);
  if (isProgram) process.argv.splice(2, 1);
  await import(new URL(`../dist/bundled/${isProgram ? name : "command"}.js`, import.meta.url).href);
}
