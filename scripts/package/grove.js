#!/usr/bin/env node
// The binary of the package. The first word names a program; every other word is a command for a server that runs.
import { existsSync } from "node:fs";

const OLDEST_NODE = 24;
const PROGRAMS = ["new", "serve", "deploy", "backup", "upgrade", "gateway"];
const SECRETS = "secrets.env";
/** The programs that need the secrets of the deployment. */
const READ_SECRETS = ["serve", "upgrade", "generate-root"];

const HELP = `Usage: grove COMMAND [options]

  new DIR      makes the folder of an installation
  serve        runs Grove on this machine
  deploy       deploys Grove to Cloudflare, as wrangler.toml in this folder says
  backup       saves what a server has stored, here or on the network
  upgrade      checks whether a server of this machine may be upgraded
  gateway      runs the LIST gateway alone

  tokens, tree, revoke, contain, find, why, explain, audit, doctor, completion,
  restore, init, apply, generate-root
               ask a server that runs (grove help tokens)
  version      this release

Each has --help and --version. Secrets in ${SECRETS} of this folder are in the
environment of serve and generate-root, and are uploaded by deploy.

Example:
  grove tokens --policy root
`;

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
} else if (PROGRAMS.includes(name)) {
  // Variables that are set already override the file.
  if (READ_SECRETS.includes(name) && existsSync(SECRETS)) process.loadEnvFile(SECRETS);
  process.argv.splice(2, 1);
  await import(new URL(`../dist/bundled/${name}.js`, import.meta.url).href);
} else {
  if (READ_SECRETS.includes(name) && existsSync(SECRETS)) process.loadEnvFile(SECRETS);
  await import(new URL("../dist/bundled/command.js", import.meta.url).href);
}
